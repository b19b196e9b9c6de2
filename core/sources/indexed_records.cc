#include "core/sources/indexed_records.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/known_files.h"
#include "core/io/manifest_files.h"
#include "core/io/record_index.h"
#include "core/sources/index_order.h"
#include "core/sources/line_framing.h"
#include "core/sources/record_unframer.h"
#include "core/sources/row_filler.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

// Bytes of indexes that one step reads.
constexpr size_t kIndexBytesMax = size_t{64} << 20;
// Bytes of adjacent records read at once: few enough to stay in the cache while
// the records are extracted.
constexpr size_t kSequentialBytes = size_t{256} << 10;

class IndexedRecords final : public RecordSource {
 public:
  IndexedRecords(std::shared_ptr<const Framing> framing,
                 std::shared_ptr<const Manifest> manifest)
      : framing_(std::move(framing)),
        envelope_(framing_->properties().envelope),
        files_(std::move(manifest)),
        unframer_(*framing_, files_),
        filler_(*framing_, files_) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<ReadScratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override;

  absl::StatusOr<size_t> ReadRun(uint64_t first, uint64_t count,
                                 size_t bytes_max, Scratch& scratch,
                                 RecordBlock& out) const override;

  std::string Describe(uint64_t index, uint64_t) const override {
    const auto place = files_.Find(index);
    const std::string& path = files_.info(place.file).path;
    if (envelope_ == Framing::Envelope::kNewline) {
      return fmt::format("{}: line {}", path, place.record + 1);
    }
    const auto record_index = files_.Index(*framing_, place.file);
    if (!record_index.ok()) {
      return fmt::format("{}: record {}", path, place.record);
    }
    return fmt::format("{}: record {} at offset {}", path, place.record,
                       (*record_index)->offsets[place.record]);
  }

 private:
  struct ReadScratch final : Scratch {
    std::vector<WantedRecord> wanted;  // in the order of the files
    std::vector<IndexedRow> order;
    std::vector<IndexedRow> spare;
    std::vector<std::shared_ptr<const RecordIndex>> indexes;  // of the files
    KnownFiles known;
    RowFiller::Scratch filler;
    // open files with announced reads
    std::vector<std::shared_ptr<const RandomAccessFile>> announced;
  };

  absl::Status Locate(std::span<const uint64_t> indexes, size_t bytes_max,
                      ReadScratch& scratch, RecordBlock& out) const;
  absl::Status LocateRun(std::span<const uint64_t> indexes, size_t bytes_max,
                         ReadScratch& scratch, RecordBlock& out) const;
  absl::Status LocateByFile(std::span<const uint64_t> indexes, size_t bytes_max,
                            ReadScratch& scratch, RecordBlock& out) const;
  absl::Status AskIndexes(size_t k, ReadScratch& scratch) const;
  absl::Status AnnounceRun(uint64_t first, uint64_t count, size_t bytes_max,
                           ReadScratch& scratch) const;
  absl::Status AppendNeighbours(const ManifestFiles::Place& place,
                                uint64_t count, size_t bytes_max,
                                ReadScratch& scratch, RecordBlock& out) const;

  const std::shared_ptr<const Framing> framing_;
  const Framing::Envelope envelope_;
  const ManifestFiles files_;
  const RecordUnframer unframer_;
  const RowFiller filler_;
};

// Fills scratch.wanted, and reserves memory for the records, by rows.
absl::Status IndexedRecords::Locate(std::span<const uint64_t> indexes,
                                    size_t bytes_max, ReadScratch& scratch,
                                    RecordBlock& out) const {
  scratch.wanted.clear();
  if (std::is_sorted(indexes.begin(), indexes.end())) {
    return LocateRun(indexes, std::min(bytes_max, kSequentialBytes), scratch,
                     out);
  }
  return LocateByFile(indexes, bytes_max, scratch, out);
}

absl::Status IndexedRecords::LocateRun(std::span<const uint64_t> indexes,
                                       size_t bytes_max, ReadScratch& scratch,
                                       RecordBlock& out) const {
  OutputColumn& column = out.columns[0];
  size_t to = 0;
  for (size_t row = 0; row < indexes.size(); ++row) {
    const auto [file, record] = files_.Find(indexes[row]);
    FM_RETURN_IF_ERROR(scratch.known.FindIndex(*framing_, files_, file));
    const uint64_t* const start =
        scratch.known.index()->offsets.data() + record;
    const uint64_t whole = start[1] - start[0];
    const uint64_t size = whole - std::min(whole, unframer_.overhead());
    if (row > 0 && to + size > bytes_max) break;
    to += size;
    scratch.wanted.push_back({file, start[0], whole, record, row});
    column.offsets.Push(static_cast<int64_t>(to));
  }
  column.values.Extend(to);
  return absl::OkStatus();
}

// Adds records, from the k-th in order on, to the requested ones, and
// prefetches their index entries.
absl::Status IndexedRecords::AskIndexes(size_t k, ReadScratch& scratch) const {
  const std::vector<IndexedRow>& order = scratch.order;
  size_t bytes = 0;
  while (k < order.size() && bytes < kIndexBytesMax) {
    const auto place = files_.Find(order[k].index);
    FM_RETURN_IF_ERROR(scratch.known.FindIndex(*framing_, files_, place.file));
    const std::shared_ptr<const RecordIndex>& index = scratch.known.index();
    scratch.indexes.push_back(index);
    const uint64_t* const starts = index->offsets.data();
    const uint64_t first = order[k].index - place.record;
    const uint64_t records = index->records();
    bytes += static_cast<size_t>(records) * sizeof(uint64_t);
    for (; k < order.size() && order[k].index - first < records; ++k) {
      const uint64_t record = order[k].index - first;
      __builtin_prefetch(starts + record);
      scratch.wanted.push_back({place.file, 0, 0, record, order[k].row});
    }
  }
  return absl::OkStatus();
}

// Locates records in the order of the files, so that each file's index is
// loaded once.
absl::Status IndexedRecords::LocateByFile(std::span<const uint64_t> indexes,
                                          size_t bytes_max,
                                          ReadScratch& scratch,
                                          RecordBlock& out) const {
  OrderByIndex(indexes, scratch.order, scratch.spare);
  OutputColumn& column = out.columns[0];
  // First sizes, then ends.
  auto* const ends = reinterpret_cast<int64_t*>(
      column.offsets.Extend(indexes.size() * sizeof(int64_t)));
  for (size_t k = 0; k < scratch.order.size();) {
    const size_t done = scratch.wanted.size();
    FM_RETURN_IF_ERROR(AskIndexes(k, scratch));
    size_t file = 0;
    for (k = done; k < scratch.wanted.size(); ++k) {
      WantedRecord& wanted = scratch.wanted[k];
      if (k > done && wanted.file != scratch.wanted[k - 1].file) ++file;
      const uint64_t* const start =
          scratch.indexes[file]->offsets.data() + wanted.record;
      wanted.offset = start[0];
      wanted.size = start[1] - start[0];
      ends[wanted.row] = static_cast<int64_t>(
          wanted.size - std::min(wanted.size, unframer_.overhead()));
    }
    scratch.indexes.clear();
  }
  size_t to = 0;
  size_t rows = 0;
  for (; rows < indexes.size(); ++rows) {
    const auto size = static_cast<size_t>(ends[rows]);
    if (rows > 0 && to + size > bytes_max) break;
    to += size;
    ends[rows] = static_cast<int64_t>(to);
  }
  column.offsets.Truncate((rows + 1) * sizeof(int64_t));
  column.values.Extend(to);
  if (rows < indexes.size()) {
    std::erase_if(scratch.wanted,
                  [&](const WantedRecord& one) { return one.row >= rows; });
  }
  return absl::OkStatus();
}

// Announces the reads of ReadRun in all files, for files whose reads have
// latency.
absl::Status IndexedRecords::AnnounceRun(uint64_t first, uint64_t count,
                                         size_t bytes_max,
                                         ReadScratch& scratch) const {
  scratch.announced.clear();
  uint64_t left = std::max<uint64_t>(bytes_max, 1);
  for (const uint64_t end = first + count; first < end && left > 0;) {
    const auto [file, record] = files_.Find(first);
    FM_RETURN_IF_ERROR(scratch.known.Open(files_, file));
    FM_RETURN_IF_ERROR(scratch.known.FindIndex(*framing_, files_, file));
    const RecordIndex& index = *scratch.known.index();
    const uint64_t* const offsets = index.offsets.data() + record;
    const auto data_bytes = [&](uint64_t records) {
      return offsets[records] - offsets[0] - records * unframer_.overhead();
    };
    // Find the smallest number of records whose data fills `left`, or all.
    uint64_t n = 1;
    for (uint64_t most = std::min(end - first, index.records() - record);
         n < most;) {
      const uint64_t middle = n + (most - n) / 2;
      if (data_bytes(middle) < left) {
        n = middle + 1;
      } else {
        most = middle;
      }
    }
    const ByteRange range{offsets[0], offsets[n] - offsets[0]};
    left -= std::min(left, data_bytes(n));
    first += n;
    if (scratch.known.opened()->ahead_bytes() == 0) continue;
    scratch.known.opened()->Prefetch({&range, 1});
    scratch.announced.push_back(scratch.known.opened());
  }
  return absl::OkStatus();
}

// Reads up to `count` adjacent records of a file, from `place` on. Closes the
// gaps between their data in place, unless the column has trailing bytes.
absl::Status IndexedRecords::AppendNeighbours(const ManifestFiles::Place& place,
                                              uint64_t count, size_t bytes_max,
                                              ReadScratch& scratch,
                                              RecordBlock& out) const {
  const size_t file = place.file;
  FM_RETURN_IF_ERROR(scratch.known.FindIndex(*framing_, files_, file));
  FM_RETURN_IF_ERROR(scratch.known.Open(files_, file));
  const RecordIndex& index = *scratch.known.index();
  const uint64_t* const offsets = index.offsets.data() + place.record;
  const uint64_t most = std::min(count, index.records() - place.record);
  uint64_t n = 1;
  while (n < most &&
         offsets[n] - offsets[0] - n * unframer_.overhead() < bytes_max) {
    ++n;
  }
  EncodedColumn& column = out.columns[0];
  const size_t trailing = column.encoding().trailing;
  size_t to = column.values.size();
  const auto bytes = static_cast<size_t>(offsets[n] - offsets[0]);
  const std::span<std::byte> raw(column.values.Extend(bytes), bytes);
  FM_RETURN_IF_ERROR(
      files_.Read(file, *scratch.known.opened(), offsets[0], raw));
  const size_t sound = envelope_ == Framing::Envelope::kTfRecord
                           ? CountTfRecords(raw, {offsets, n + 1})
                           : 0;
  for (uint64_t k = 0; k < n; ++k) {
    std::span<const std::byte> data =
        raw.subspan(offsets[k] - offsets[0], offsets[k + 1] - offsets[k]);
    if (k < sound) {
      data = TfRecordData(data);
    } else {
      const auto parsed =
          unframer_.DataOf(data, file, place.record + k, offsets[k]);
      out.error = parsed.status();
      if (absl::IsDataLoss(out.error)) break;
      FM_RETURN_IF_ERROR(parsed.status());
      data = *parsed;
    }
    if (trailing > 0) {
      // From data to data: the end of this record and the next one's header.
      to = static_cast<size_t>(data.data() - column.values.data()) +
           data.size() + trailing;
    } else {
      std::memmove(column.values.data() + to, data.data(), data.size());
      to += data.size();
    }
    column.offsets.Push(static_cast<int64_t>(to));
    ++out.rows;
  }
  if (trailing == 0) column.values.Truncate(to);
  return absl::OkStatus();
}

absl::StatusOr<size_t> IndexedRecords::ReadRun(uint64_t first, uint64_t count,
                                               size_t bytes_max,
                                               Scratch& scratch,
                                               RecordBlock& out) const {
  auto& read = static_cast<ReadScratch&>(scratch);
  out.ResetScalars({{DType::kBytes}});
  BufferBuilder& values = out.columns[0].values;
  const bool trailing = envelope_ == Framing::Envelope::kTfRecord;
  if (trailing) {
    out.columns[0].SetTrailing(kTfRecordOverheadBytes);
    out.columns[0].offsets.As<int64_t>()[0] = kTfRecordHeaderBytes;
  }
  if (files_.has_urls()) {
    FM_RETURN_IF_ERROR(AnnounceRun(first, count, bytes_max, read));
  }
  // Reads few enough bytes at once that they stay in the cache while the
  // records are extracted.
  while (out.rows < count && out.error.ok() &&
         (out.rows == 0 || values.size() < bytes_max)) {
    const size_t left = bytes_max - std::min(bytes_max, values.size());
    FM_RETURN_IF_ERROR(
        AppendNeighbours(files_.Find(first + out.rows), count - out.rows,
                         std::min(left, kSequentialBytes), read, out));
  }
  read.announced.clear();
  // The last record needs trailing bytes, too.
  if (trailing) values.Extend(kTfRecordHeaderBytes);
  return out.rows;
}

absl::StatusOr<size_t> IndexedRecords::Read(std::span<const uint64_t> indexes,
                                            size_t bytes_max, Scratch& scratch,
                                            RecordBlock& out) const {
  auto& read = static_cast<ReadScratch&>(scratch);
  out.ResetScalars({{DType::kBytes}});
  FM_RETURN_IF_ERROR(Locate(indexes, bytes_max, read, out));
  const size_t count = read.wanted.size();
  size_t bad_row = count;
  FM_RETURN_IF_ERROR(
      filler_.Fill(read.wanted, read.known, read.filler, bad_row, out));
  OutputColumn& column = out.columns[0];
  const std::span<int64_t> offsets(column.offsets.As<int64_t>(), count + 1);
  if (envelope_ == Framing::Envelope::kNewline) {
    column.values.Truncate(DropNewlines(column.values.data(), offsets));
  }
  out.rows = bad_row;
  if (bad_row < count) {
    column.offsets.Truncate((bad_row + 1) * sizeof(int64_t));
    column.values.Truncate(static_cast<size_t>(offsets[bad_row]));
  }
  return bad_row;
}

}  // namespace

std::unique_ptr<const RecordSource> MakeIndexedRecords(
    std::shared_ptr<const Framing> framing,
    std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<IndexedRecords>(std::move(framing),
                                          std::move(manifest));
}

}  // namespace feedmill

#include "core/sources/indexed_records.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/sources/index_order.h"
#include "core/sources/manifest_files.h"
#include "core/sources/range_gatherer.h"
#include "core/sources/record_index.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

// Neighbours that are joined into one read: how far apart, how much in all (it
// is still in the cache when it is checked).
constexpr uint64_t kJoinGapBytes = uint64_t{4} << 10;
constexpr uint64_t kJoinBytesMax = uint64_t{256} << 10;
// So many files, at most, are gathered from at once.
constexpr size_t kGatheredFilesMax = 128;
// Records in order are read together as long as they stay in the cache while
// they are taken apart.
constexpr size_t kSequentialBytes = size_t{256} << 10;

// Rows go to where nothing was written just before. Longer ones are copied as
// fast as memory takes them.
void PrefetchForWriting(const std::byte* at, size_t size) {
  constexpr size_t kBytesMax = 2048;
  for (size_t k = 0; k < std::min(size, kBytesMax); k += 64) {
    __builtin_prefetch(at + k, 1);
  }
}

void ResetBlock(RecordBlock& out) {
  out.rows = 0;
  out.trailing = 0;
  out.error = absl::OkStatus();
  out.columns.resize(1);
  out.columns[0].Reset(DType::kBytes, {});
  out.columns[0].offsets.Push(int64_t{0});
}

class IndexedRecords final : public RecordSource {
 public:
  IndexedRecords(const Framing& framing,
                 std::shared_ptr<const Manifest> manifest)
      : framing_(framing), files_(std::move(manifest)) {}

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
    if (framing_.kind == Framing::Kind::kLines) {
      return fmt::format("{}: line {}", path, place.record + 1);
    }
    const auto record_index = files_.Index(framing_, place.file);
    if (!record_index.ok()) {
      return fmt::format("{}: record {}", path, place.record);
    }
    return fmt::format("{}: record {} at offset {}", path, place.record,
                       (*record_index)->offsets[place.record]);
  }

 private:
  // A record that is to be read, and the row that it makes.
  struct Wanted {
    size_t file;
    uint64_t offset;
    uint64_t size;  // in the file
    uint64_t record;
    size_t row;
  };
  // What was found of a file before; looked up again if it is gone.
  struct Known {
    std::weak_ptr<const File> opened;
    std::weak_ptr<const RecordIndex> index;
  };
  struct ReadFrom {
    size_t file;
    std::shared_ptr<const File> opened;
  };
  // To be gathered.
  struct Noted {
    const Wanted* wanted = nullptr;
    const File* opened = nullptr;
  };
  struct ReadScratch final : Scratch {
    std::vector<Wanted> wanted;  // in the order of the files
    std::vector<IndexedRow> order;
    std::vector<IndexedRow> spare;
    std::vector<ReadFrom> noted_from;
    std::vector<Noted> noted;  // by row
    RangeGatherer gatherer;
    std::vector<Noted> in_window;
    BufferBuilder raw;
    std::vector<Known> known;  // by file
    std::shared_ptr<const RecordIndex> index;
    size_t index_file = 0;
    std::shared_ptr<const File> opened;
    size_t opened_file = 0;
  };

  // How many bytes of a record in the file are not its data.
  uint64_t Overhead() const {
    return framing_.kind == Framing::Kind::kTfRecords ? kTfRecordOverheadBytes
                                                      : 0;
  }
  absl::Status Locate(std::span<const uint64_t> indexes, size_t bytes_max,
                      ReadScratch& scratch, RecordBlock& out) const;
  absl::Status LocateRun(std::span<const uint64_t> indexes, size_t bytes_max,
                         ReadScratch& scratch, RecordBlock& out) const;
  absl::Status LocateByFile(std::span<const uint64_t> indexes, size_t bytes_max,
                            ReadScratch& scratch, RecordBlock& out) const;
  absl::Status FindIndex(size_t file, ReadScratch& scratch) const;
  absl::StatusOr<Wanted> Find(const ManifestFiles::Place& place, size_t row,
                              ReadScratch& scratch) const;
  absl::Status Open(size_t file, ReadScratch& scratch) const;
  absl::Status AppendNeighbours(const ManifestFiles::Place& place,
                                uint64_t count, size_t bytes_max,
                                ReadScratch& scratch, RecordBlock& out) const;
  absl::StatusOr<std::span<const std::byte>> Parse(
      std::span<const std::byte> record, size_t file, uint64_t number,
      uint64_t offset) const;
  absl::StatusOr<std::span<const std::byte>> DataOf(
      std::span<const std::byte> record, size_t file, uint64_t number,
      uint64_t offset) const;
  absl::Status ReadWanted(ReadScratch& scratch, size_t& bad_row,
                          RecordBlock& out) const;
  size_t GroupFrom(size_t first, const ReadScratch& scratch) const;
  absl::Status ReadGroup(std::span<const Wanted> group, const File& opened,
                         ReadScratch& scratch, size_t& bad_row,
                         RecordBlock& out) const;
  absl::Status ReadWindow(ReadScratch& scratch, size_t& bad_row,
                          RecordBlock& out) const;
  absl::Status ReadNoted(ReadScratch& scratch, size_t& bad_row,
                         RecordBlock& out) const;
  absl::Status Keep(const Wanted& wanted, std::span<const std::byte> record,
                    size_t& bad_row, RecordBlock& out) const;

  const Framing framing_;
  const ManifestFiles files_;
};

absl::Status IndexedRecords::FindIndex(size_t file,
                                       ReadScratch& scratch) const {
  if (scratch.index != nullptr && scratch.index_file == file) {
    return absl::OkStatus();
  }
  scratch.known.resize(files_.manifest().files.size());
  std::weak_ptr<const RecordIndex>& known = scratch.known[file].index;
  scratch.index = known.lock();
  if (scratch.index == nullptr) {
    FM_ASSIGN_OR_RETURN(scratch.index, files_.Index(framing_, file));
    known = scratch.index;
  }
  scratch.index_file = file;
  return absl::OkStatus();
}

absl::Status IndexedRecords::Open(size_t file, ReadScratch& scratch) const {
  if (scratch.opened != nullptr && scratch.opened_file == file) {
    return absl::OkStatus();
  }
  scratch.known.resize(files_.manifest().files.size());
  std::weak_ptr<const File>& known = scratch.known[file].opened;
  scratch.opened = known.lock();
  if (scratch.opened == nullptr) {
    FM_ASSIGN_OR_RETURN(scratch.opened, files_.Open(file));
    known = scratch.opened;
  }
  scratch.opened_file = file;
  return absl::OkStatus();
}

absl::StatusOr<IndexedRecords::Wanted> IndexedRecords::Find(
    const ManifestFiles::Place& place, size_t row, ReadScratch& scratch) const {
  FM_RETURN_IF_ERROR(FindIndex(place.file, scratch));
  const uint64_t* const offsets = scratch.index->offsets.data() + place.record;
  return Wanted{place.file, offsets[0], offsets[1] - offsets[0], place.record,
                row};
}

// Fills scratch.wanted, and makes room for the records in the order of
// `indexes`.
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
    FM_ASSIGN_OR_RETURN(const Wanted wanted,
                        Find(files_.Find(indexes[row]), row, scratch));
    const uint64_t size = wanted.size - std::min(wanted.size, Overhead());
    if (row > 0 && to + size > bytes_max) break;
    to += size;
    scratch.wanted.push_back(wanted);
    column.offsets.Push(static_cast<int64_t>(to));
  }
  column.values.Extend(to);
  return absl::OkStatus();
}

// In the order of the files, so that the index of each is asked for once,
// however often its records alternate with those of others.
absl::Status IndexedRecords::LocateByFile(std::span<const uint64_t> indexes,
                                          size_t bytes_max,
                                          ReadScratch& scratch,
                                          RecordBlock& out) const {
  OrderByIndex(indexes, scratch.order, scratch.spare);
  OutputColumn& column = out.columns[0];
  // Sizes first, then where they end.
  auto* const ends = reinterpret_cast<int64_t*>(
      column.offsets.Extend(indexes.size() * sizeof(int64_t)));
  const std::vector<IndexedRow>& order = scratch.order;
  for (size_t k = 0; k < order.size();) {
    const auto place = files_.Find(order[k].index);
    FM_RETURN_IF_ERROR(FindIndex(place.file, scratch));
    const uint64_t first = order[k].index - place.record;
    const uint64_t* const starts = scratch.index->offsets.data();
    size_t end = k;
    for (; end < order.size() &&
           order[end].index - first < scratch.index->records();
         ++end) {
      __builtin_prefetch(starts + (order[end].index - first));
    }
    for (; k < end; ++k) {
      const uint64_t record = order[k].index - first;
      const uint64_t size = starts[record + 1] - starts[record];
      const size_t row = order[k].row;
      ends[row] = static_cast<int64_t>(size - std::min(size, Overhead()));
      scratch.wanted.push_back({place.file, starts[record], size, record, row});
    }
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
                  [&](const Wanted& one) { return one.row >= rows; });
  }
  return absl::OkStatus();
}

// Of those wanted, how many from `first` on are read together.
size_t IndexedRecords::GroupFrom(size_t first,
                                 const ReadScratch& scratch) const {
  const Wanted* const wanted = scratch.wanted.data() + first;
  const size_t left = scratch.wanted.size() - first;
  uint64_t end = wanted->offset + wanted->size;
  size_t n = 1;
  for (; n < left; ++n) {
    const Wanted& next = wanted[n];
    // What is wanted in two rows is read twice.
    if (next.file != wanted->file || next.offset < end ||
        next.offset > end + kJoinGapBytes ||
        next.offset + next.size > wanted->offset + kJoinBytesMax) {
      break;
    }
    end = next.offset + next.size;
  }
  return n;
}

// Reads neighbours with what stands between them, and then takes them apart.
absl::Status IndexedRecords::ReadGroup(std::span<const Wanted> group,
                                       const File& opened, ReadScratch& scratch,
                                       size_t& bad_row,
                                       RecordBlock& out) const {
  const uint64_t begin = group.front().offset;
  const uint64_t end = group.back().offset + group.back().size;
  scratch.raw.Truncate(0);
  const std::span<std::byte> raw(scratch.raw.Extend(end - begin), end - begin);
  FM_RETURN_IF_ERROR(files_.Fill(group.front().file, opened, begin, raw));
  const std::byte* const values = out.columns[0].values.data();
  const int64_t* const offsets = out.columns[0].offsets.As<int64_t>();
  for (size_t k = 0; k < group.size(); ++k) {
    if (k + 1 < group.size()) {
      PrefetchForWriting(values + offsets[group[k + 1].row], group[k + 1].size);
    }
    FM_RETURN_IF_ERROR(Keep(group[k],
                            raw.subspan(group[k].offset - begin, group[k].size),
                            bad_row, out));
  }
  return absl::OkStatus();
}

// Copies a record to its row; notes the first row that is bad.
absl::Status IndexedRecords::Keep(const Wanted& wanted,
                                  std::span<const std::byte> record,
                                  size_t& bad_row, RecordBlock& out) const {
  std::span<const std::byte> data = record;
  if (framing_.kind == Framing::Kind::kTfRecords && IsTfRecord(record)) {
    data = record.subspan(kTfRecordHeaderBytes,
                          record.size() - kTfRecordOverheadBytes);
  } else if (framing_.kind == Framing::Kind::kTfRecords) {
    const auto parsed =
        DataOf(record, wanted.file, wanted.record, wanted.offset);
    if (parsed.status().code() == absl::StatusCode::kDataLoss) {
      if (wanted.row < bad_row) {
        bad_row = wanted.row;
        out.error = parsed.status();
      }
      return absl::OkStatus();
    }
    FM_RETURN_IF_ERROR(parsed.status());
    data = *parsed;
  }
  OutputColumn& column = out.columns[0];
  if (!data.empty()) {
    std::memcpy(column.values.data() + column.offsets.As<int64_t>()[wanted.row],
                data.data(), data.size());
  }
  return absl::OkStatus();
}

absl::Status IndexedRecords::ReadWindow(ReadScratch& scratch, size_t& bad_row,
                                        RecordBlock& out) const {
  if (scratch.in_window.empty()) return absl::OkStatus();
  std::span<const std::byte> bytes = scratch.gatherer.Gather();
  const bool gathered = !bytes.empty();
  for (const auto& [wanted, opened] : scratch.in_window) {
    if (gathered) {
      FM_RETURN_IF_ERROR(
          Keep(*wanted, bytes.first(wanted->size), bad_row, out));
      bytes = bytes.subspan(wanted->size);
    } else {
      FM_RETURN_IF_ERROR(
          ReadGroup({wanted, 1}, *opened, scratch, bad_row, out));
    }
  }
  scratch.in_window.clear();
  return absl::OkStatus();
}

// Gathers what was noted, in the order of the rows: memory is written in order,
// and that of files takes no longer in any other.
absl::Status IndexedRecords::ReadNoted(ReadScratch& scratch, size_t& bad_row,
                                       RecordBlock& out) const {
  scratch.in_window.clear();
  scratch.gatherer.Forget();
  for (Noted& one : scratch.noted) {
    if (one.wanted == nullptr) continue;
    const Noted noted = std::exchange(one, {});
    if (scratch.gatherer.full()) {
      FM_RETURN_IF_ERROR(ReadWindow(scratch, bad_row, out));
    }
    if (scratch.gatherer.Add(*noted.opened, noted.wanted->offset,
                             noted.wanted->size)) {
      scratch.in_window.push_back(noted);
    } else {
      FM_RETURN_IF_ERROR(
          ReadGroup({noted.wanted, 1}, *noted.opened, scratch, bad_row, out));
    }
  }
  FM_RETURN_IF_ERROR(ReadWindow(scratch, bad_row, out));
  for (const ReadFrom& from : scratch.noted_from) {
    FM_RETURN_IF_ERROR(files_.Check(from.file, *from.opened));
  }
  scratch.noted_from.clear();
  return absl::OkStatus();
}

// What was read of a file counts if it is unchanged after that.
absl::Status IndexedRecords::ReadWanted(ReadScratch& scratch, size_t& bad_row,
                                        RecordBlock& out) const {
  const std::vector<Wanted>& all = scratch.wanted;
  scratch.noted_from.clear();
  scratch.noted.assign(all.size(), {});
  for (size_t k = 0; k < all.size();) {
    const size_t file = all[k].file;
    if (scratch.noted_from.size() == kGatheredFilesMax) {
      FM_RETURN_IF_ERROR(ReadNoted(scratch, bad_row, out));
    }
    FM_RETURN_IF_ERROR(Open(file, scratch));
    const File& opened = *scratch.opened;
    bool noted = false;
    while (k < all.size() && all[k].file == file) {
      const size_t n = GroupFrom(k, scratch);
      if (n == 1 && all[k].size <= RangeGatherer::kRangeBytesMax &&
          !opened.ForKernel().empty()) {
        scratch.noted[all[k].row] = {&all[k], &opened};
        noted = true;
      } else {
        FM_RETURN_IF_ERROR(ReadGroup(std::span(all).subspan(k, n), opened,
                                     scratch, bad_row, out));
      }
      k += n;
    }
    if (noted) {
      scratch.noted_from.push_back({file, scratch.opened});
    } else {
      FM_RETURN_IF_ERROR(files_.Check(file, opened));
    }
  }
  return ReadNoted(scratch, bad_row, out);
}

absl::StatusOr<std::span<const std::byte>> IndexedRecords::Parse(
    std::span<const std::byte> record, size_t file, uint64_t number,
    uint64_t offset) const {
  const ManifestFile& info = files_.info(file);
  const TfRecordPlace place{info.path, number, offset};
  auto parsed = ParseTfRecord(record, place);
  if (parsed.ok()) return parsed;
  // Of the last one of a damaged file only the beginning was read.
  FM_RETURN_IF_ERROR(
      ParseTfRecordHeader(record, info.size - offset, place).status());
  return parsed;
}

// The data of a record: without what TFRecord puts around it, or the line's
// end. DataLoss if it is bad.
absl::StatusOr<std::span<const std::byte>> IndexedRecords::DataOf(
    std::span<const std::byte> record, size_t file, uint64_t number,
    uint64_t offset) const {
  if (framing_.kind == Framing::Kind::kTfRecords) {
    FM_ASSIGN_OR_RETURN(const auto data, Parse(record, file, number, offset));
    // The index came from these headers; the file was edited in place.
    if (data.size() != record.size() - kTfRecordOverheadBytes) {
      return files_.Changed(file);
    }
    return data;
  }
  const bool line = framing_.kind == Framing::Kind::kLines;
  if (line && !record.empty() && record.back() == std::byte{'\n'}) {
    return record.first(record.size() - 1);
  }
  return record;
}

// Reads up to `count` records, from the one at `place` on, that stand together
// in its file, and moves them together in the memory that they are read to,
// unless the reader takes them as they stand.
absl::Status IndexedRecords::AppendNeighbours(const ManifestFiles::Place& place,
                                              uint64_t count, size_t bytes_max,
                                              ReadScratch& scratch,
                                              RecordBlock& out) const {
  const size_t file = place.file;
  FM_RETURN_IF_ERROR(FindIndex(file, scratch));
  FM_RETURN_IF_ERROR(Open(file, scratch));
  const uint64_t* const offsets = scratch.index->offsets.data() + place.record;
  const uint64_t most =
      std::min(count, scratch.index->records() - place.record);
  uint64_t n = 1;
  while (n < most && offsets[n] - offsets[0] - n * Overhead() < bytes_max) ++n;
  OutputColumn& column = out.columns[0];
  size_t to = column.values.size();
  const auto bytes = static_cast<size_t>(offsets[n] - offsets[0]);
  const std::span<std::byte> raw(column.values.Extend(bytes), bytes);
  FM_RETURN_IF_ERROR(files_.Read(file, *scratch.opened, offsets[0], raw));
  for (uint64_t k = 0; k < n; ++k) {
    const auto data = DataOf(
        raw.subspan(offsets[k] - offsets[0], offsets[k + 1] - offsets[k]), file,
        place.record + k, offsets[k]);
    if (data.status().code() == absl::StatusCode::kDataLoss) {
      out.error = data.status();
      break;
    }
    FM_RETURN_IF_ERROR(data.status());
    if (out.trailing > 0) {
      // From data to data: the end of this record, the next one's header.
      to = static_cast<size_t>(data->data() - column.values.data()) +
           data->size() + out.trailing;
    } else {
      std::memmove(column.values.data() + to, data->data(), data->size());
      to += data->size();
    }
    column.offsets.Push(static_cast<int64_t>(to));
    ++out.rows;
  }
  if (out.trailing == 0) column.values.Truncate(to);
  return absl::OkStatus();
}

absl::StatusOr<size_t> IndexedRecords::ReadRun(uint64_t first, uint64_t count,
                                               size_t bytes_max,
                                               Scratch& scratch,
                                               RecordBlock& out) const {
  auto& read = static_cast<ReadScratch&>(scratch);
  ResetBlock(out);
  BufferBuilder& values = out.columns[0].values;
  if (out.takes_trailing && framing_.kind == Framing::Kind::kTfRecords) {
    out.trailing = kTfRecordOverheadBytes;
    out.columns[0].offsets.As<int64_t>()[0] = kTfRecordHeaderBytes;
  }
  // So much at once that it is still in the cache when it is taken apart.
  while (out.rows < count && out.error.ok() &&
         (out.rows == 0 || values.size() < bytes_max)) {
    const size_t left = bytes_max - std::min(bytes_max, values.size());
    FM_RETURN_IF_ERROR(
        AppendNeighbours(files_.Find(first + out.rows), count - out.rows,
                         std::min(left, kSequentialBytes), read, out));
  }
  // Behind the last record, too.
  if (out.trailing > 0) values.Extend(kTfRecordHeaderBytes);
  return out.rows;
}

// Lines end in a '\n' that is not theirs: closes the gaps.
void DropNewlines(OutputColumn& column, size_t rows) {
  auto* const offsets = column.offsets.As<int64_t>();
  std::byte* const values = column.values.data();
  int64_t to = 0;
  int64_t from = 0;
  for (size_t row = 0; row < rows; ++row) {
    const int64_t next = offsets[row + 1];
    int64_t size = next - from;
    if (size > 0 && values[next - 1] == std::byte{'\n'}) --size;
    if (to != from) {
      std::memmove(values + to, values + from, static_cast<size_t>(size));
    }
    to += size;
    from = next;
    offsets[row + 1] = to;
  }
  column.values.Truncate(static_cast<size_t>(to));
}

absl::StatusOr<size_t> IndexedRecords::Read(std::span<const uint64_t> indexes,
                                            size_t bytes_max, Scratch& scratch,
                                            RecordBlock& out) const {
  auto& read = static_cast<ReadScratch&>(scratch);
  ResetBlock(out);
  FM_RETURN_IF_ERROR(Locate(indexes, bytes_max, read, out));
  const size_t count = read.wanted.size();
  size_t bad_row = count;
  FM_RETURN_IF_ERROR(ReadWanted(read, bad_row, out));
  if (framing_.kind == Framing::Kind::kLines)
    DropNewlines(out.columns[0], count);
  out.rows = bad_row;
  if (bad_row < count) {
    OutputColumn& column = out.columns[0];
    column.offsets.Truncate((bad_row + 1) * sizeof(int64_t));
    column.values.Truncate(
        static_cast<size_t>(column.offsets.As<int64_t>()[bad_row]));
  }
  return bad_row;
}

}  // namespace

std::unique_ptr<const RecordSource> MakeIndexedRecords(
    const Framing& framing, std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<IndexedRecords>(framing, std::move(manifest));
}

}  // namespace feedmill

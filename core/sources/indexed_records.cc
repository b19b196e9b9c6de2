#include "core/sources/indexed_records.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/sources/manifest_files.h"
#include "core/sources/record_index.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

// Neighbours that are joined into one read: how far apart, how much in all.
constexpr uint64_t kJoinGapBytes = uint64_t{16} << 10;
constexpr uint64_t kJoinBytesMax = uint64_t{1} << 20;
// Records in order are read together as long as they stay in the cache while
// they are taken apart.
constexpr size_t kSequentialBytes = size_t{256} << 10;

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
  // A record that is to be read, and where its bytes go.
  struct Wanted {
    size_t file;
    uint64_t offset;
    uint64_t size;  // in the file
    uint64_t record;
    size_t row;
    size_t to;  // in the values
  };
  struct ReadScratch final : Scratch {
    std::vector<Wanted> wanted;  // in the order of the files
    std::vector<size_t> by_row;  // where in `wanted`; if that is not by rows
    std::vector<std::pair<uint64_t, size_t>> order;  // indexes and rows
    BufferBuilder raw;
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
  absl::Status LocateByFile(std::span<const uint64_t> indexes,
                            ReadScratch& scratch) const;
  absl::Status FindIndex(size_t file, ReadScratch& scratch) const;
  absl::Status FindOffset(Wanted& wanted, ReadScratch& scratch) const;
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
  absl::Status ReadGroup(std::span<const Wanted> group, ReadScratch& scratch,
                         size_t& bad_row, RecordBlock& out) const;

  const Framing framing_;
  const ManifestFiles files_;
};

absl::Status IndexedRecords::FindIndex(size_t file,
                                       ReadScratch& scratch) const {
  if (scratch.index != nullptr && scratch.index_file == file) {
    return absl::OkStatus();
  }
  FM_ASSIGN_OR_RETURN(scratch.index, files_.Index(framing_, file));
  scratch.index_file = file;
  return absl::OkStatus();
}

absl::Status IndexedRecords::Open(size_t file, ReadScratch& scratch) const {
  if (scratch.opened != nullptr && scratch.opened_file == file) {
    return absl::OkStatus();
  }
  FM_ASSIGN_OR_RETURN(scratch.opened, files_.Open(file));
  scratch.opened_file = file;
  return absl::OkStatus();
}

absl::Status IndexedRecords::FindOffset(Wanted& wanted,
                                        ReadScratch& scratch) const {
  FM_RETURN_IF_ERROR(FindIndex(wanted.file, scratch));
  const auto& offsets = scratch.index->offsets;
  wanted.offset = offsets[wanted.record];
  wanted.size = offsets[wanted.record + 1] - wanted.offset;
  return absl::OkStatus();
}

// Fills scratch.wanted, and makes room for the records in the order of
// `indexes`.
absl::Status IndexedRecords::Locate(std::span<const uint64_t> indexes,
                                    size_t bytes_max, ReadScratch& scratch,
                                    RecordBlock& out) const {
  auto& all = scratch.wanted;
  all.clear();
  const bool sorted = std::is_sorted(indexes.begin(), indexes.end());
  if (sorted) {
    bytes_max = std::min(bytes_max, kSequentialBytes);
  } else {
    FM_RETURN_IF_ERROR(LocateByFile(indexes, scratch));
  }
  OutputColumn& column = out.columns[0];
  size_t to = 0;
  size_t rows = 0;
  for (; rows < indexes.size(); ++rows) {
    if (sorted) {
      const auto place = files_.Find(indexes[rows]);
      all.push_back({place.file, 0, 0, place.record, rows, 0});
      FM_RETURN_IF_ERROR(FindOffset(all[rows], scratch));
    }
    Wanted& wanted = all[sorted ? rows : scratch.by_row[rows]];
    const uint64_t size = wanted.size - std::min(wanted.size, Overhead());
    if (rows > 0 && to + size > bytes_max) break;
    wanted.to = to;
    to += size;
    column.offsets.Push(static_cast<int64_t>(to));
  }
  std::erase_if(all, [&](const Wanted& one) { return one.row >= rows; });
  column.values.Extend(to);
  return absl::OkStatus();
}

// In the order of the files, so that the index of each is asked for once,
// however often its records alternate with those of others.
absl::Status IndexedRecords::LocateByFile(std::span<const uint64_t> indexes,
                                          ReadScratch& scratch) const {
  auto& all = scratch.wanted;
  auto& order = scratch.order;
  order.clear();
  for (size_t row = 0; row < indexes.size(); ++row) {
    order.emplace_back(indexes[row], row);
  }
  std::sort(order.begin(), order.end());
  scratch.by_row.resize(order.size());
  size_t file = 0;
  for (const auto& [index, row] : order) {
    const auto place = files_.FindNear(index, file);
    file = place.file;
    scratch.by_row[row] = all.size();
    all.push_back({file, 0, 0, place.record, row, 0});
    FM_RETURN_IF_ERROR(FindOffset(all.back(), scratch));
  }
  return absl::OkStatus();
}

absl::Status IndexedRecords::ReadGroup(std::span<const Wanted> group,
                                       ReadScratch& scratch, size_t& bad_row,
                                       RecordBlock& out) const {
  const size_t file = group.front().file;
  const uint64_t begin = group.front().offset;
  const uint64_t end = group.back().offset + group.back().size;
  FM_RETURN_IF_ERROR(Open(file, scratch));
  scratch.raw.Truncate(0);
  const std::span<std::byte> raw(scratch.raw.Extend(end - begin), end - begin);
  FM_RETURN_IF_ERROR(files_.Fill(file, *scratch.opened, begin, raw));
  std::byte* const values = out.columns[0].values.data();
  for (const Wanted& wanted : group) {
    std::span<const std::byte> data =
        raw.subspan(wanted.offset - begin, wanted.size);
    if (framing_.kind == Framing::Kind::kTfRecords) {
      const auto parsed = Parse(data, file, wanted.record, wanted.offset);
      if (!parsed.ok()) {
        if (wanted.row < bad_row) {
          bad_row = wanted.row;
          out.error = parsed.status();
        }
        continue;
      }
      data = *parsed;
      // The index came from these headers; the file was edited in place.
      if (data.size() != wanted.size - kTfRecordOverheadBytes) {
        return files_.Changed(file);
      }
    }
    if (!data.empty()) {
      std::memcpy(values + wanted.to, data.data(), data.size());
    }
  }
  return absl::OkStatus();
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
  for (size_t k = 0; k < count;) {
    const Wanted& first = read.wanted[k];
    uint64_t group_end = first.offset + first.size;
    size_t next = k + 1;
    for (; next < count; ++next) {
      const Wanted& wanted = read.wanted[next];
      if (wanted.file != first.file ||
          wanted.offset > group_end + kJoinGapBytes ||
          wanted.offset + wanted.size > first.offset + kJoinBytesMax) {
        break;
      }
      group_end = wanted.offset + wanted.size;
    }
    const size_t file = first.file;
    FM_RETURN_IF_ERROR(ReadGroup(std::span(read.wanted).subspan(k, next - k),
                                 read, bad_row, out));
    k = next;
    if (k == count || read.wanted[k].file != file) {
      FM_RETURN_IF_ERROR(files_.Check(file, *read.opened));
    }
  }
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

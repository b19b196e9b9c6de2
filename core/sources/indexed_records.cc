#include "core/sources/indexed_records.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/prefetch.h"
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
// Files that are gathered from at once, and bytes of indexes looked at
// together.
constexpr size_t kGatheredFilesMax = 128;
constexpr size_t kIndexBytesMax = size_t{64} << 20;
// Longer records are copied as fast as memory is.
constexpr uint64_t kAheadBytes = 2048;
// What was read of groups, until it is put where it belongs.
constexpr size_t kGroupBytesMax = size_t{2} << 20;
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
  // A record that is to be read, and the row that it makes.
  struct Wanted {
    size_t file = 0;
    uint64_t offset = 0;
    uint64_t size = 0;  // in the file
    uint64_t record = 0;
    size_t row = 0;
  };
  // What was found of a file before; looked up again if it is gone.
  struct Known {
    std::weak_ptr<const File> opened;
    std::weak_ptr<const RecordIndex> index;
  };
  // A row that is to be gathered, or copied from what its group was read to.
  struct Noted {
    enum class How { kNot, kGather, kCopy };
    How how = How::kNot;
    Wanted wanted;
    const File* opened = nullptr;  // to be gathered from
    size_t at = 0;                 // to be copied from
  };
  struct ReadScratch final : Scratch {
    std::vector<Wanted> wanted;  // in the order of the files
    std::vector<IndexedRow> order;
    std::vector<IndexedRow> spare;
    std::vector<std::shared_ptr<const RecordIndex>> indexes;  // of the files
    std::vector<std::pair<size_t, std::shared_ptr<const File>>> gathered_from;
    std::vector<Noted> noted;  // by row
    RangeGatherer gatherer;
    std::vector<const Noted*> in_window;
    BufferBuilder groups;
    BufferBuilder alone;
    std::vector<Known> known;  // by file
    std::shared_ptr<const RecordIndex> index;
    size_t index_file = 0;
    std::shared_ptr<const File> opened;
    size_t opened_file = 0;
  };

  // Bytes of a record that are not its data.
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
  absl::Status AskIndexes(size_t k, ReadScratch& scratch) const;
  absl::Status FindIndex(size_t file, ReadScratch& scratch) const;
  absl::Status Open(size_t file, ReadScratch& scratch) const;
  absl::Status AppendNeighbours(const ManifestFiles::Place& place,
                                uint64_t count, size_t bytes_max,
                                ReadScratch& scratch, RecordBlock& out) const;
  absl::StatusOr<std::span<const std::byte>> DataOf(
      std::span<const std::byte> record, size_t file, uint64_t number,
      uint64_t offset) const;
  absl::Status ReadWanted(ReadScratch& scratch, size_t& bad_row,
                          RecordBlock& out) const;
  size_t GroupFrom(size_t first, const ReadScratch& scratch) const;
  absl::Status ReadGroup(std::span<const Wanted> group, const File& opened,
                         ReadScratch& scratch) const;
  absl::Status ReadAlone(const Wanted& wanted, const File& opened,
                         ReadScratch& scratch, size_t& bad_row,
                         RecordBlock& out) const;
  absl::Status ReadWindow(ReadScratch& scratch, size_t& bad_row,
                          RecordBlock& out) const;
  absl::Status ReadNoted(ReadScratch& scratch, size_t& bad_row,
                         RecordBlock& out) const;
  static void ForgetNoted(ReadScratch& scratch) {
    scratch.gathered_from.clear();
    scratch.groups.Truncate(0);
    for (Noted& noted : scratch.noted) noted.how = Noted::How::kNot;
  }
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

// Fills scratch.wanted, and makes room for the records by rows.
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
    FM_RETURN_IF_ERROR(FindIndex(file, scratch));
    const uint64_t* const start = scratch.index->offsets.data() + record;
    const uint64_t whole = start[1] - start[0];
    const uint64_t size = whole - std::min(whole, Overhead());
    if (row > 0 && to + size > bytes_max) break;
    to += size;
    scratch.wanted.push_back({file, start[0], whole, record, row});
    column.offsets.Push(static_cast<int64_t>(to));
  }
  column.values.Extend(to);
  return absl::OkStatus();
}

// Adds records, from the k-th in order on, to those wanted, and asks the memory
// for what indexes say of them.
absl::Status IndexedRecords::AskIndexes(size_t k, ReadScratch& scratch) const {
  const std::vector<IndexedRow>& order = scratch.order;
  size_t bytes = 0;
  while (k < order.size() && bytes < kIndexBytesMax) {
    const auto place = files_.Find(order[k].index);
    FM_RETURN_IF_ERROR(FindIndex(place.file, scratch));
    scratch.indexes.push_back(scratch.index);
    const uint64_t* const starts = scratch.index->offsets.data();
    const uint64_t first = order[k].index - place.record;
    const uint64_t records = scratch.index->records();
    bytes += static_cast<size_t>(records) * sizeof(uint64_t);
    for (; k < order.size() && order[k].index - first < records; ++k) {
      const uint64_t record = order[k].index - first;
      __builtin_prefetch(starts + record);
      scratch.wanted.push_back({place.file, 0, 0, record, order[k].row});
    }
  }
  return absl::OkStatus();
}

// In the order of the files, so that the index of each is asked for once.
absl::Status IndexedRecords::LocateByFile(std::span<const uint64_t> indexes,
                                          size_t bytes_max,
                                          ReadScratch& scratch,
                                          RecordBlock& out) const {
  OrderByIndex(indexes, scratch.order, scratch.spare);
  OutputColumn& column = out.columns[0];
  // Sizes first, then where they end.
  auto* const ends = reinterpret_cast<int64_t*>(
      column.offsets.Extend(indexes.size() * sizeof(int64_t)));
  for (size_t k = 0; k < scratch.order.size();) {
    const size_t done = scratch.wanted.size();
    FM_RETURN_IF_ERROR(AskIndexes(k, scratch));
    size_t file = 0;
    for (k = done; k < scratch.wanted.size(); ++k) {
      Wanted& wanted = scratch.wanted[k];
      if (k > done && wanted.file != scratch.wanted[k - 1].file) ++file;
      const uint64_t* const start =
          scratch.indexes[file]->offsets.data() + wanted.record;
      wanted.offset = start[0];
      wanted.size = start[1] - start[0];
      ends[wanted.row] =
          static_cast<int64_t>(wanted.size - std::min(wanted.size, Overhead()));
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
                  [&](const Wanted& one) { return one.row >= rows; });
  }
  return absl::OkStatus();
}

// Of those wanted, how many from `first` on are read together.
size_t IndexedRecords::GroupFrom(size_t first,
                                 const ReadScratch& scratch) const {
  const std::span all = std::span(scratch.wanted).subspan(first);
  uint64_t end = all[0].offset + all[0].size;
  size_t n = 1;
  for (; n < all.size(); ++n) {
    // What is wanted in two rows is read twice.
    if (all[n].file != all[0].file || all[n].offset < end ||
        all[n].offset > end + kJoinGapBytes ||
        all[n].offset + all[n].size > all[0].offset + kJoinBytesMax) {
      break;
    }
    end = all[n].offset + all[n].size;
  }
  return n;
}

// Reads neighbours with what stands between them.
absl::Status IndexedRecords::ReadGroup(std::span<const Wanted> group,
                                       const File& opened,
                                       ReadScratch& scratch) const {
  const uint64_t begin = group.front().offset;
  const auto size =
      static_cast<size_t>(group.back().offset + group.back().size - begin);
  const size_t at = scratch.groups.size();
  FM_RETURN_IF_ERROR(files_.Fill(group.front().file, opened, begin,
                                 {scratch.groups.Extend(size), size}));
  for (const Wanted& wanted : group) {
    scratch.noted[wanted.row] = {Noted::How::kCopy, wanted, nullptr,
                                 at + (wanted.offset - begin)};
  }
  return absl::OkStatus();
}

absl::Status IndexedRecords::ReadAlone(const Wanted& wanted, const File& opened,
                                       ReadScratch& scratch, size_t& bad_row,
                                       RecordBlock& out) const {
  scratch.alone.Truncate(0);
  const std::span<std::byte> record(scratch.alone.Extend(wanted.size),
                                    wanted.size);
  FM_RETURN_IF_ERROR(files_.Fill(wanted.file, opened, wanted.offset, record));
  return Keep(wanted, record, bad_row, out);
}

// Copies a record to its row; notes the first row that is bad.
absl::Status IndexedRecords::Keep(const Wanted& wanted,
                                  std::span<const std::byte> record,
                                  size_t& bad_row, RecordBlock& out) const {
  std::span<const std::byte> data = record;
  if (framing_.kind == Framing::Kind::kTfRecords) {
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
  const std::byte* const values = out.columns[0].values.data();
  const int64_t* const offsets = out.columns[0].offsets.As<int64_t>();
  for (const Noted* const noted : scratch.in_window) {
    const Wanted& wanted = noted->wanted;
    if (gathered) {
      PrefetchToWrite(values + offsets[wanted.row + 1],
                      std::min(wanted.size, kAheadBytes));
      FM_RETURN_IF_ERROR(Keep(wanted, bytes.first(wanted.size), bad_row, out));
      bytes = bytes.subspan(wanted.size);
    } else {
      FM_RETURN_IF_ERROR(
          ReadAlone(wanted, *noted->opened, scratch, bad_row, out));
    }
  }
  scratch.in_window.clear();
  return absl::OkStatus();
}

// Puts what was noted where it belongs, by rows: memory is written in order.
absl::Status IndexedRecords::ReadNoted(ReadScratch& scratch, size_t& bad_row,
                                       RecordBlock& out) const {
  scratch.in_window.clear();
  scratch.gatherer.Forget();
  const std::byte* const groups = scratch.groups.data();
  const std::byte* const values = out.columns[0].values.data();
  const auto* const offsets = out.columns[0].offsets.As<int64_t>();
  const Noted* next = nullptr;  // to be copied, when its memory has come
  const auto copy = [&] {
    if (next == nullptr) return absl::OkStatus();
    return Keep(next->wanted, {groups + next->at, next->wanted.size}, bad_row,
                out);
  };
  for (const Noted& noted : scratch.noted) {
    const Wanted& wanted = noted.wanted;
    if (noted.how == Noted::How::kCopy) {
      PrefetchToRead(groups + noted.at, std::min(wanted.size, kAheadBytes));
      PrefetchToWrite(values + offsets[wanted.row],
                      std::min(wanted.size, kAheadBytes));
      FM_RETURN_IF_ERROR(copy());
      next = &noted;
    } else if (noted.how == Noted::How::kGather) {
      if (scratch.gatherer.full()) {
        FM_RETURN_IF_ERROR(ReadWindow(scratch, bad_row, out));
      }
      if (scratch.gatherer.Add(*noted.opened, wanted.offset, wanted.size)) {
        scratch.in_window.push_back(&noted);
      } else {
        FM_RETURN_IF_ERROR(
            ReadAlone(wanted, *noted.opened, scratch, bad_row, out));
      }
    }
  }
  FM_RETURN_IF_ERROR(copy());
  FM_RETURN_IF_ERROR(ReadWindow(scratch, bad_row, out));
  for (const auto& [file, opened] : scratch.gathered_from) {
    FM_RETURN_IF_ERROR(files_.Check(file, *opened));
  }
  ForgetNoted(scratch);
  return absl::OkStatus();
}

// What is read of a file counts if it is unchanged after that.
absl::Status IndexedRecords::ReadWanted(ReadScratch& scratch, size_t& bad_row,
                                        RecordBlock& out) const {
  const std::vector<Wanted>& all = scratch.wanted;
  scratch.noted.resize(all.size());
  ForgetNoted(scratch);
  for (size_t k = 0; k < all.size();) {
    const size_t file = all[k].file;
    if (scratch.gathered_from.size() == kGatheredFilesMax) {
      FM_RETURN_IF_ERROR(ReadNoted(scratch, bad_row, out));
    }
    FM_RETURN_IF_ERROR(Open(file, scratch));
    const File& opened = *scratch.opened;
    bool gathers = false;
    while (k < all.size() && all[k].file == file) {
      const size_t n = GroupFrom(k, scratch);
      if (n > 1) {
        FM_RETURN_IF_ERROR(
            ReadGroup(std::span(all).subspan(k, n), opened, scratch));
      } else if (all[k].size <= RangeGatherer::kRangeBytesMax &&
                 !opened.ForKernel().empty()) {
        scratch.noted[all[k].row] = {Noted::How::kGather, all[k], &opened, 0};
        if (!std::exchange(gathers, true)) {
          scratch.gathered_from.emplace_back(file, scratch.opened);
        }
      } else {
        FM_RETURN_IF_ERROR(ReadAlone(all[k], opened, scratch, bad_row, out));
      }
      k += n;
      if (scratch.groups.size() >= kGroupBytesMax) {
        FM_RETURN_IF_ERROR(ReadNoted(scratch, bad_row, out));
        gathers = false;
      }
    }
    if (!gathers) FM_RETURN_IF_ERROR(files_.Check(file, opened));
  }
  return ReadNoted(scratch, bad_row, out);
}

// The data of a record: without what TFRecord puts around it, or the line's
// end. DataLoss if it is bad.
absl::StatusOr<std::span<const std::byte>> IndexedRecords::DataOf(
    std::span<const std::byte> record, size_t file, uint64_t number,
    uint64_t offset) const {
  if (framing_.kind == Framing::Kind::kTfRecords) {
    if (IsTfRecord(record)) return TfRecordData(record);
    const ManifestFile& info = files_.info(file);
    const TfRecordPlace place{info.path, number, offset};
    const auto data = ParseTfRecord(record, place);
    // Of the last one of a damaged file only the beginning was read.
    if (!data.ok()) {
      FM_RETURN_IF_ERROR(
          ParseTfRecordHeader(record, info.size - offset, place).status());
      return data;
    }
    // The index came from these headers; the file was edited in place.
    return files_.Changed(file);
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
  const size_t sound = framing_.kind == Framing::Kind::kTfRecords
                           ? CountTfRecords(raw, {offsets, n + 1})
                           : 0;
  for (uint64_t k = 0; k < n; ++k) {
    std::span<const std::byte> data =
        raw.subspan(offsets[k] - offsets[0], offsets[k + 1] - offsets[k]);
    if (k < sound) {
      data = TfRecordData(data);
    } else {
      const auto parsed = DataOf(data, file, place.record + k, offsets[k]);
      out.error = parsed.status();
      if (absl::IsDataLoss(out.error)) break;
      FM_RETURN_IF_ERROR(parsed.status());
      data = *parsed;
    }
    if (out.trailing > 0) {
      // From data to data: the end of this record, the next one's header.
      to = static_cast<size_t>(data.data() - column.values.data()) +
           data.size() + out.trailing;
    } else {
      std::memmove(column.values.data() + to, data.data(), data.size());
      to += data.size();
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

absl::StatusOr<size_t> IndexedRecords::Read(std::span<const uint64_t> indexes,
                                            size_t bytes_max, Scratch& scratch,
                                            RecordBlock& out) const {
  auto& read = static_cast<ReadScratch&>(scratch);
  ResetBlock(out);
  FM_RETURN_IF_ERROR(Locate(indexes, bytes_max, read, out));
  const size_t count = read.wanted.size();
  size_t bad_row = count;
  FM_RETURN_IF_ERROR(ReadWanted(read, bad_row, out));
  OutputColumn& column = out.columns[0];
  const std::span<int64_t> offsets(column.offsets.As<int64_t>(), count + 1);
  if (framing_.kind == Framing::Kind::kLines) {
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
    const Framing& framing, std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<IndexedRecords>(framing, std::move(manifest));
}

}  // namespace feedmill

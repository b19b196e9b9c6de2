#include "core/sources/row_filler.h"

#include <algorithm>
#include <utility>

#include "core/base/prefetch.h"
#include "core/base/status.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

// Neighbours that are joined into one read: how far apart, how much in all (it
// is still in the cache when it is checked).
constexpr uint64_t kJoinGapBytes = uint64_t{4} << 10;
constexpr uint64_t kJoinBytesMax = uint64_t{256} << 10;
// Files that are gathered from at once.
constexpr size_t kGatheredFilesMax = 128;
// Longer records are copied as fast as memory is.
constexpr uint64_t kAheadBytes = 2048;

}  // namespace

// How many of `all`, from the first on, are read together.
size_t RowFiller::GroupFrom(std::span<const WantedRecord> all) {
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

// How many of a group's first records, if they are TFRecords without a gap
// between them, are not bad.
size_t RowFiller::CountSound(std::span<const WantedRecord> group,
                             std::span<const std::byte> bytes,
                             Scratch& scratch) const {
  if (framing_.kind != Framing::Kind::kTfRecords) return 0;
  std::vector<uint64_t>& offsets = scratch.offsets;
  offsets.assign(1, group[0].offset);
  for (const WantedRecord& wanted : group) {
    if (wanted.offset != offsets.back()) break;
    offsets.push_back(wanted.offset + wanted.size);
  }
  return CountTfRecords(bytes, offsets);
}

// Reads neighbours with what stands between them, and puts them into their rows
// while they are still in the cache.
absl::Status RowFiller::ReadGroup(std::span<const WantedRecord> group,
                                  const File& opened, Scratch& scratch,
                                  Rows& rows) const {
  const uint64_t begin = group.front().offset;
  const auto size =
      static_cast<size_t>(group.back().offset + group.back().size - begin);
  scratch.read.Truncate(0);
  const std::span<std::byte> bytes(scratch.read.Extend(size), size);
  FM_RETURN_IF_ERROR(files_.Fill(group.front().file, opened, begin, bytes));
  const size_t sound = CountSound(group, bytes, scratch);
  for (size_t k = 0; k < group.size(); ++k) {
    const auto record = bytes.subspan(group[k].offset - begin, group[k].size);
    if (k + 1 < group.size()) {
      PrefetchToWrite(rows.At(group[k + 1].row),
                      std::min(group[k + 1].size, kAheadBytes));
    }
    if (k < sound) {
      rows.Set(group[k].row, TfRecordData(record));
    } else {
      FM_RETURN_IF_ERROR(Keep(group[k], record, rows));
    }
  }
  return absl::OkStatus();
}

absl::Status RowFiller::ReadAlone(const WantedRecord& wanted,
                                  const File& opened, Scratch& scratch,
                                  Rows& rows) const {
  scratch.read.Truncate(0);
  const std::span<std::byte> record(scratch.read.Extend(wanted.size),
                                    wanted.size);
  FM_RETURN_IF_ERROR(files_.Fill(wanted.file, opened, wanted.offset, record));
  return Keep(wanted, record, rows);
}

// Copies a record to its row; notes the first row that is bad.
absl::Status RowFiller::Keep(const WantedRecord& wanted,
                             std::span<const std::byte> record,
                             Rows& rows) const {
  std::span<const std::byte> data = record;
  if (framing_.kind == Framing::Kind::kTfRecords) {
    const auto parsed =
        unframer_.DataOf(record, wanted.file, wanted.record, wanted.offset);
    if (parsed.status().code() == absl::StatusCode::kDataLoss) {
      if (wanted.row < rows.bad_row) {
        rows.bad_row = wanted.row;
        rows.error = parsed.status();
      }
      return absl::OkStatus();
    }
    FM_RETURN_IF_ERROR(parsed.status());
    data = *parsed;
  }
  rows.Set(wanted.row, data);
  return absl::OkStatus();
}

// Puts the data of a record that others may write to meanwhile into its row.
// False: it is bad, or may be.
bool RowFiller::Copy(const WantedRecord& wanted,
                     std::span<const std::byte> record, Rows& rows) const {
  if (framing_.kind == Framing::Kind::kTfRecords) {
    return CopyTfRecord(record, rows.At(wanted.row));
  }
  rows.Set(wanted.row, record);
  return true;
}

absl::Status RowFiller::ReadWindow(Scratch& scratch, Rows& rows) const {
  const auto& in_window = scratch.in_window;
  if (in_window.empty()) return absl::OkStatus();
  const auto ranges = scratch.gatherer.Gather();
  for (size_t k = 0; k < ranges.size(); ++k) {
    const WantedRecord& wanted = in_window[k]->wanted;
    PrefetchToWrite(rows.At(wanted.row + 1),
                    std::min(wanted.size, kAheadBytes));
    if (!Copy(wanted, ranges[k], rows)) {
      FM_RETURN_IF_ERROR(
          ReadAlone(wanted, *in_window[k]->opened, scratch, rows));
    }
  }
  if (ranges.empty() || !scratch.gatherer.Sound()) {
    for (const Scratch::Noted* const noted : in_window) {
      FM_RETURN_IF_ERROR(
          ReadAlone(noted->wanted, *noted->opened, scratch, rows));
    }
  }
  scratch.in_window.clear();
  scratch.gatherer.Forget();
  return absl::OkStatus();
}

// Gathers what was noted, by rows: memory is written in order.
absl::Status RowFiller::ReadNoted(Scratch& scratch, Rows& rows) const {
  scratch.in_window.clear();
  scratch.gatherer.Forget();
  for (const Scratch::Noted& noted : scratch.noted) {
    if (noted.opened == nullptr) continue;
    if (scratch.gatherer.full()) FM_RETURN_IF_ERROR(ReadWindow(scratch, rows));
    const WantedRecord& wanted = noted.wanted;
    if (scratch.gatherer.Add(*noted.opened, wanted.offset, wanted.size)) {
      scratch.in_window.push_back(&noted);
    } else {
      FM_RETURN_IF_ERROR(ReadAlone(wanted, *noted.opened, scratch, rows));
    }
  }
  FM_RETURN_IF_ERROR(ReadWindow(scratch, rows));
  for (const auto& [file, opened] : scratch.gathered_from) {
    FM_RETURN_IF_ERROR(files_.Check(file, *opened));
  }
  scratch.Forget();
  return absl::OkStatus();
}

// What is read of a file counts if it is unchanged after that.
absl::Status RowFiller::Fill(std::span<const WantedRecord> all,
                             KnownFiles& known, Scratch& scratch,
                             size_t& bad_row, RecordBlock& out) const {
  OutputColumn& column = out.columns[0];
  Rows rows{column.values.data(), column.offsets.As<int64_t>(), bad_row,
            out.error};
  scratch.noted.resize(all.size());
  scratch.Forget();
  for (size_t k = 0; k < all.size();) {
    const size_t file = all[k].file;
    if (scratch.gathered_from.size() == kGatheredFilesMax) {
      FM_RETURN_IF_ERROR(ReadNoted(scratch, rows));
    }
    FM_RETURN_IF_ERROR(known.Open(files_, file));
    const File& opened = *known.opened();
    bool gathers = false;
    while (k < all.size() && all[k].file == file) {
      const size_t n = GroupFrom(all.subspan(k));
      if (n > 1) {
        FM_RETURN_IF_ERROR(ReadGroup(all.subspan(k, n), opened, scratch, rows));
      } else if (all[k].size <= RangeGatherer::kRangeBytesMax &&
                 opened.Mapping() != nullptr) {
        scratch.noted[all[k].row] = {all[k], &opened};
        if (!std::exchange(gathers, true)) {
          scratch.gathered_from.emplace_back(file, known.opened());
        }
      } else {
        FM_RETURN_IF_ERROR(ReadAlone(all[k], opened, scratch, rows));
      }
      k += n;
    }
    if (!gathers) FM_RETURN_IF_ERROR(files_.Check(file, opened));
  }
  return ReadNoted(scratch, rows);
}

}  // namespace feedmill

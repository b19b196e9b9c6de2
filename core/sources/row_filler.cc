#include "core/sources/row_filler.h"

#include <algorithm>
#include <utility>

#include "core/base/prefetch.h"
#include "core/base/status.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

// Records that are joined into one read: largest gap between them, and most
// bytes in all, which stay in the cache while they are checked.
constexpr uint64_t kJoinGapBytes = uint64_t{4} << 10;
constexpr uint64_t kJoinBytesMax = uint64_t{256} << 10;
// Least bytes for joining records of a file that is in memory.
constexpr uint64_t kJoinBytesMin = uint64_t{32} << 10;
// Most files that one window gathers from.
constexpr size_t kGatheredFilesMax = 128;

}  // namespace

// Returns how many of `all`, from the first on, are read together.
size_t RowFiller::GroupFrom(std::span<const WantedRecord> all) {
  uint64_t end = all[0].offset + all[0].size;
  size_t n = 1;
  for (; n < all.size(); ++n) {
    // A record that is requested for two rows is read twice.
    if (all[n].file != all[0].file || all[n].offset < end ||
        all[n].offset > end + kJoinGapBytes ||
        all[n].offset + all[n].size > all[0].offset + kJoinBytesMax) {
      break;
    }
    end = all[n].offset + all[n].size;
  }
  return n;
}

// Announces all reads in all files, for files whose reads have latency.
absl::Status RowFiller::Announce(std::span<const WantedRecord> all,
                                 KnownFiles& known,
                                 AnnouncedFiles& announced) const {
  std::vector<ByteRange> ranges;
  for (size_t k = 0; k < all.size();) {
    const size_t file = all[k].file;
    FM_RETURN_IF_ERROR(known.Open(files_, file));
    ranges.clear();
    while (k < all.size() && all[k].file == file) {
      const size_t n = GroupFrom(all.subspan(k));
      const WantedRecord& last = all[k + n - 1];
      ranges.push_back(
          {all[k].offset, last.offset + last.size - all[k].offset});
      k += n;
    }
    if (known.opened()->ahead_bytes() == 0) continue;
    known.opened()->Prefetch(ranges);
    announced.push_back(known.opened());
  }
  return absl::OkStatus();
}

// Copies TFRecords to their rows. Returns the number of leading valid ones.
size_t RowFiller::CopySound(std::span<const WantedRecord> group,
                            std::span<const std::byte> bytes, Scratch& scratch,
                            Rows& rows) const {
  if (envelope_ != Framing::Envelope::kTfRecord) return 0;
  scratch.copies.clear();
  for (const WantedRecord& wanted : group) {
    const uint64_t begin = wanted.offset - group.front().offset;
    scratch.copies.push_back(
        {bytes.subspan(begin, wanted.size), rows.At(wanted.row)});
  }
  return CopyTfRecords(scratch.copies);
}

// Reads a group of records with the bytes between them, and copies the records
// to their rows while they are in the cache.
absl::Status RowFiller::ReadGroup(std::span<const WantedRecord> group,
                                  Reading& reading) const {
  auto& [all, known, scratch, rows] = reading;
  const uint64_t begin = group.front().offset;
  const auto size =
      static_cast<size_t>(group.back().offset + group.back().size - begin);
  scratch.read.Truncate(0);
  const std::span<std::byte> bytes(scratch.read.Extend(size), size);
  FM_RETURN_IF_ERROR(
      files_.Fill(group.front().file, *known.opened(), begin, bytes));
  for (size_t k = CopySound(group, bytes, scratch, rows); k < group.size();
       ++k) {
    if (k + 1 < group.size()) {
      PrefetchToWrite(rows.At(group[k + 1].row),
                      std::min(group[k + 1].size, kPrefetchedBytesMax));
    }
    const auto record = bytes.subspan(group[k].offset - begin, group[k].size);
    FM_RETURN_IF_ERROR(Keep(group[k], record, rows));
  }
  return absl::OkStatus();
}

absl::Status RowFiller::ReadAlone(const WantedRecord& wanted,
                                  Reading& reading) const {
  auto& [all, known, scratch, rows] = reading;
  FM_RETURN_IF_ERROR(known.Open(files_, wanted.file));
  scratch.read.Truncate(0);
  const std::span<std::byte> record(scratch.read.Extend(wanted.size),
                                    wanted.size);
  FM_RETURN_IF_ERROR(
      files_.Fill(wanted.file, *known.opened(), wanted.offset, record));
  return Keep(wanted, record, rows);
}

// Copies a record to its row; notes the first bad row.
absl::Status RowFiller::Keep(const WantedRecord& wanted,
                             std::span<const std::byte> record,
                             Rows& rows) const {
  std::span<const std::byte> data = record;
  if (envelope_ == Framing::Envelope::kTfRecord) {
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

// Copies gathered records to their rows; other processes may write to the
// source meanwhile. Bad or possibly bad records are read again, one by one.
absl::Status RowFiller::CopyGathered(
    std::span<const std::span<const std::byte>> ranges,
    Reading& reading) const {
  auto& [all, known, scratch, rows] = reading;
  const std::vector<size_t>& in_window = scratch.in_window;
  if (envelope_ != Framing::Envelope::kTfRecord) {
    for (size_t k = 0; k < ranges.size(); ++k) {
      rows.Set(in_window[k], ranges[k]);
    }
    return absl::OkStatus();
  }
  scratch.copies.clear();
  for (size_t k = 0; k < ranges.size(); ++k) {
    scratch.copies.push_back({ranges[k], rows.At(in_window[k])});
  }
  std::span<const TfRecordCopy> left(scratch.copies);
  while (true) {
    left = left.subspan(CopyTfRecords(left));
    if (left.empty()) return absl::OkStatus();
    const size_t row = in_window[scratch.copies.size() - left.size()];
    FM_RETURN_IF_ERROR(ReadAlone(all[scratch.noted[row].wanted], reading));
    left = left.subspan(1);
  }
}

absl::Status RowFiller::ReadWindow(Reading& reading) const {
  auto& [all, known, scratch, rows] = reading;
  const std::vector<size_t>& in_window = scratch.in_window;
  if (in_window.empty()) return absl::OkStatus();
  const auto ranges = scratch.gatherer.Gather();
  FM_RETURN_IF_ERROR(CopyGathered(ranges, reading));
  if (ranges.empty() || !scratch.gatherer.Sound()) {
    for (const size_t row : in_window) {
      FM_RETURN_IF_ERROR(ReadAlone(all[scratch.noted[row].wanted], reading));
    }
  }
  scratch.in_window.clear();
  scratch.gatherer.Forget();
  return absl::OkStatus();
}

// Gathers the noted records in the order of rows, so that memory is written in
// order.
absl::Status RowFiller::ReadNoted(Reading& reading) const {
  Scratch& scratch = reading.scratch;
  for (size_t row = 0; row < scratch.noted.size(); ++row) {
    const std::byte* const at = std::exchange(scratch.noted[row].at, nullptr);
    if (at == nullptr) continue;
    if (scratch.gatherer.full()) FM_RETURN_IF_ERROR(ReadWindow(reading));
    scratch.gatherer.Add({at, scratch.noted[row].size});
    scratch.in_window.push_back(row);
  }
  FM_RETURN_IF_ERROR(ReadWindow(reading));
  for (const auto& [file, opened] : scratch.gathered_from) {
    FM_RETURN_IF_ERROR(files_.Check(file, *opened));
  }
  scratch.gathered_from.clear();
  scratch.gatherer.Begin();
  return absl::OkStatus();
}

// Reads records `begin` to `end`, all of the file opened last, or notes them
// for gathering.
absl::Status RowFiller::ReadOfFile(size_t begin, size_t end,
                                   Reading& reading) const {
  auto& [all, known, scratch, rows] = reading;
  const std::shared_ptr<const RandomAccessFile> opened = known.opened();
  const GuardedMapping* mapping = nullptr;
  bool gathers = false;
  for (size_t k = begin; k < end;) {
    const size_t n = GroupFrom(all.subspan(k, end - k));
    const WantedRecord& last = all[k + n - 1];
    const bool joins =
        n > 1 && last.offset + last.size - all[k].offset >= kJoinBytesMin;
    if (!joins && mapping == nullptr &&
        all[k].size <= RangeGatherer::kRangeBytesMax) {
      mapping = opened->Mapping();
    }
    if (n > 1 && (joins || mapping == nullptr)) {
      FM_RETURN_IF_ERROR(ReadGroup(all.subspan(k, n), reading));
      k += n;
      continue;
    }
    for (const size_t after = k + n; k < after; ++k) {
      const auto range =
          mapping == nullptr
              ? std::span<const std::byte>()
              : RangeGatherer::Range(*mapping, all[k].offset, all[k].size);
      if (range.data() == nullptr) {
        FM_RETURN_IF_ERROR(ReadAlone(all[k], reading));
        continue;
      }
      scratch.noted[all[k].row] = {range.data(),
                                   static_cast<uint32_t>(range.size()),
                                   static_cast<uint32_t>(k)};
      gathers = true;
    }
  }
  if (!gathers) return files_.Check(all[begin].file, *opened);
  scratch.gathered_from.emplace_back(all[begin].file, opened);
  return absl::OkStatus();
}

// Data of a file is valid only if the file is unchanged after the read.
absl::Status RowFiller::Fill(std::span<const WantedRecord> all,
                             KnownFiles& known, Scratch& scratch,
                             size_t& bad_row, RecordBlock& out) const {
  OutputColumn& column = out.columns[0];
  Reading reading{all, known, scratch,
                  Rows{column.values.data(), column.offsets.As<int64_t>(),
                       bad_row, out.error}};
  scratch.Begin(all.size());
  AnnouncedFiles announced;
  if (files_.has_urls()) FM_RETURN_IF_ERROR(Announce(all, known, announced));
  for (size_t k = 0; k < all.size();) {
    if (scratch.gathered_from.size() == kGatheredFilesMax) {
      FM_RETURN_IF_ERROR(ReadNoted(reading));
    }
    const size_t begin = k;
    while (k < all.size() && all[k].file == all[begin].file) ++k;
    FM_RETURN_IF_ERROR(known.Open(files_, all[begin].file));
    FM_RETURN_IF_ERROR(ReadOfFile(begin, k, reading));
  }
  return ReadNoted(reading);
}

}  // namespace feedmill

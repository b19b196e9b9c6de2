#include "core/sources/framing_finder.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/read_ahead.h"
#include "core/sources/record_stream.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;

absl::Status Shrank(const std::string& path, uint64_t offset) {
  return FailedPrecondition(
      "{}: changed since the job began: it ends at byte {} now", path, offset);
}

absl::StatusOr<RecordIndex> IndexTfRecord(const RandomAccessFile& file,
                                          uint64_t size) {
  const std::string& path = file.name();
  // Where reads wait, headers that stand within what is read ahead come with
  // it.
  const uint64_t sparse_min =
      std::max<uint64_t>(kWindowBytes / 4, file.ahead_bytes());
  ReadAhead ahead(file, 0, size);
  RecordIndex index;
  index.offsets.push_back(0);
  std::vector<std::byte> window(std::min<uint64_t>(kWindowBytes, size));
  uint64_t window_begin = 0;
  uint64_t window_end = 0;
  uint64_t offset = 0;
  while (offset < size) {
    if (offset + kTfRecordHeaderBytes > window_end) {
      // Large records: only their headers are read.
      const bool sparse =
          index.records() > 0 && offset / index.records() > sparse_min;
      const uint64_t want = std::min<uint64_t>(
          sparse ? kTfRecordHeaderBytes : window.size(), size - offset);
      if (!sparse) ahead.Reach(offset);
      FM_ASSIGN_OR_RETURN(const size_t got,
                          file.Read(offset, {window.data(), want}));
      if (got < want) return Shrank(path, offset + got);
      window_begin = offset;
      window_end = offset + got;
    }
    const size_t at = static_cast<size_t>(offset - window_begin);
    const size_t have = static_cast<size_t>(window_end - offset);
    const auto length =
        ParseTfRecordHeader({window.data() + at, have}, size - offset,
                            {path, index.records(), offset});
    if (!length.ok()) {
      // No TFRecord file at all, or one whose rest is lost: one bad record.
      if (index.records() == 0) return length.status();
      index.offsets.push_back(std::min(size, offset + kTfRecordOverheadBytes));
      break;
    }
    offset += *length + kTfRecordOverheadBytes;
    index.offsets.push_back(offset);
  }
  return index;
}

absl::StatusOr<RecordIndex> IndexLines(const RandomAccessFile& file,
                                       uint64_t size) {
  ReadAhead ahead(file, 0, size);
  RecordIndex index;
  index.offsets.push_back(0);
  std::vector<std::byte> window(std::min<uint64_t>(4 * kWindowBytes, size));
  for (uint64_t offset = 0; offset < size;) {
    const uint64_t want = std::min<uint64_t>(window.size(), size - offset);
    ahead.Reach(offset);
    FM_ASSIGN_OR_RETURN(const size_t got,
                        file.Read(offset, {window.data(), want}));
    if (got < want) return Shrank(file.name(), offset + got);
    const std::byte* const begin = window.data();
    const std::byte* const end = begin + got;
    if (offset == 0 &&
        std::string_view(reinterpret_cast<const char*>(begin), got)
            .starts_with(kUtf8Mark)) {
      index.offsets[0] = kUtf8Mark.size();
    }
    for (const std::byte* at = begin; at < end; ++at) {
      at = static_cast<const std::byte*>(
          std::memchr(at, '\n', static_cast<size_t>(end - at)));
      if (at == nullptr) break;
      index.offsets.push_back(offset + static_cast<uint64_t>(at - begin) + 1);
    }
    offset += got;
  }
  if (index.offsets.back() != size) index.offsets.push_back(size);
  // A file of nothing but the mark has no line.
  if (index.offsets.size() == 1) index.offsets[0] = 0;
  return index;
}

// Any framing: finds the records as reading does.
absl::StatusOr<RecordIndex> IndexRecords(const Framing& framing,
                                         const RandomAccessFile& file,
                                         uint64_t size) {
  ReadAhead ahead(file, 0, size);
  RecordIndex index;
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    ahead.Reach(offset);
    FM_ASSIGN_OR_RETURN(const size_t got, file.Read(offset, out));
    return got == out.size() ? absl::OkStatus()
                             : Shrank(file.name(), offset + got);
  };
  RecordStream stream(framing, file.name(),
                      MakeByteStream(Compression::kNone, read, 0, size));
  while (true) {
    FM_ASSIGN_OR_RETURN(const bool more, stream.Next());
    for (size_t k = 0; k < stream.records().size(); ++k) {
      index.offsets.push_back(stream.OffsetOf(k));
    }
    FM_RETURN_IF_ERROR(stream.error());
    if (!more) break;
  }
  index.offsets.push_back(size);
  return index;
}

// The framing's fields, eight bytes each.
std::string NameOf(const Framing& framing) {
  std::string out;
  for (const uint64_t value :
       {static_cast<uint64_t>(framing.kind), framing.record_bytes,
        framing.footer_bytes, framing.header_bytes,
        uint64_t{framing.first_is_header}}) {
    for (size_t k = 0; k < sizeof value; ++k) {
      out += static_cast<char>(value >> (8 * k) & 0xff);
    }
  }
  // Indexes of lines that were made before byte order marks were passed over
  // are not used.
  const bool lines = framing.kind == Framing::Kind::kLines ||
                     framing.kind == Framing::Kind::kFilledLines ||
                     framing.kind == Framing::Kind::kQuotedLines;
  if (lines) out += 'm';
  return out;
}

}  // namespace

FramingFinder::FramingFinder(const Framing& framing)
    : RecordFinder(NameOf(framing)), framing_(framing) {}

absl::StatusOr<RecordIndex> FramingFinder::Find(const RandomAccessFile& file,
                                                uint64_t size) const {
  switch (framing_.kind) {
    case Framing::Kind::kTfRecords:
      return IndexTfRecord(file, size);
    case Framing::Kind::kLines:
      return IndexLines(file, size);
    default:
      return IndexRecords(framing_, file, size);
  }
}

}  // namespace feedmill

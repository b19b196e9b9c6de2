#include "core/sources/framing.h"

#include <span>

#include "core/base/status.h"
#include "core/io/read_ahead.h"
#include "core/io/read_stop.h"
#include "core/sources/record_stream.h"

namespace feedmill {

absl::StatusOr<RecordIndex> Framing::Find(const RandomAccessFile& file,
                                          uint64_t size) const {
  ReadAhead ahead(file, 0, size);
  RecordIndex index;
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    FM_RETURN_IF_ERROR(ReadStop::Check(file.name()));
    ahead.Reach(offset);
    FM_ASSIGN_OR_RETURN(const size_t got, file.Read(offset, out));
    return got == out.size() ? absl::OkStatus()
                             : Shrank(file.name(), offset + got);
  };
  RecordStream stream(*this, file.name(),
                      MakeByteStream(Compression::kNone, read, 0, size));
  while (true) {
    FM_ASSIGN_OR_RETURN(const bool more, stream.Next());
    for (size_t k = 0; k < stream.records().size(); ++k) {
      index.offsets.push_back(stream.OffsetOf(k) - properties_.prefix_bytes);
    }
    FM_RETURN_IF_ERROR(stream.error());
    if (!more) break;
  }
  index.offsets.push_back(size);
  return index;
}

std::string Framing::NumberedName(uint64_t number, const Properties& properties,
                                  uint64_t record_bytes,
                                  uint64_t footer_bytes) {
  std::string out;
  for (const uint64_t value :
       {number, record_bytes, footer_bytes, properties.header_bytes,
        uint64_t{properties.first_is_header}}) {
    for (size_t k = 0; k < sizeof value; ++k) {
      out += static_cast<char>(value >> (8 * k) & 0xff);
    }
  }
  // The suffix invalidates indexes of text from versions that did not skip byte
  // order marks.
  if (properties.text) out += 'm';
  if (properties.skipped_lines > 0) {
    out += fmt::format("skip {};", properties.skipped_lines);
  }
  return out;
}

absl::Status Framing::Shrank(const std::string& path, uint64_t offset) {
  return FailedPrecondition(
      "{}: changed since the job began: it ends at byte {} now", path, offset);
}

}  // namespace feedmill

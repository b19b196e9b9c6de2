#include "core/sources/record_unframer.h"

#include "core/base/status.h"
#include "core/sources/tfrecord.h"

namespace feedmill {

uint64_t RecordUnframer::overhead() const {
  return framing_.properties().envelope == Framing::Envelope::kTfRecord
             ? kTfRecordOverheadBytes
             : 0;
}

absl::StatusOr<std::span<const std::byte>> RecordUnframer::DataOf(
    std::span<const std::byte> record, size_t file, uint64_t number,
    uint64_t offset) const {
  if (framing_.properties().envelope == Framing::Envelope::kTfRecord) {
    if (IsTfRecord(record)) return TfRecordData(record);
    const ManifestFile& info = files_.info(file);
    const TfRecordPlace place{info.path, number, offset};
    const auto data = ParseTfRecord(record, place);
    // In a damaged file, only the beginning of the last record was read.
    if (!data.ok()) {
      FM_RETURN_IF_ERROR(
          ParseTfRecordHeader(record, info.size - offset, place).status());
      return data;
    }
    // The index came from these headers, so the file was edited in place.
    return files_.Changed(file);
  }
  const bool line =
      framing_.properties().envelope == Framing::Envelope::kNewline;
  if (line && !record.empty() && record.back() == std::byte{'\n'}) {
    return record.first(record.size() - 1);
  }
  return record;
}

}  // namespace feedmill

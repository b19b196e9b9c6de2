#include "core/sources/tfrecord.h"

#include <cstring>

#include "core/base/status.h"
#include "core/sources/crc32c.h"

namespace feedmill {
namespace {

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

absl::Status Corrupt(const TfRecordPlace& place, std::string_view what) {
  return DataLoss("{}: record {} at offset {}: {}", place.path, place.record,
                  place.offset, what);
}

}  // namespace

absl::StatusOr<uint64_t> ParseTfRecordHeader(std::span<const std::byte> bytes,
                                             uint64_t left,
                                             const TfRecordPlace& place) {
  if (left < kTfRecordOverheadBytes || bytes.size() < kTfRecordHeaderBytes) {
    return Corrupt(place, "the file ends inside the record's header");
  }
  const uint64_t length = Load<uint64_t>(bytes.data());
  if (MaskCrc32c(Crc32c(bytes.first(8))) != Load<uint32_t>(bytes.data() + 8)) {
    return Corrupt(place,
                   "the checksum of the length does not match (not a TFRecord "
                   "file, or a damaged one)");
  }
  if (length > left - kTfRecordOverheadBytes) {
    return Corrupt(place,
                   fmt::format("{} bytes long, but the file ends {} bytes "
                               "after its header",
                               length, left - kTfRecordHeaderBytes));
  }
  return length;
}

absl::StatusOr<std::span<const std::byte>> ParseTfRecord(
    std::span<const std::byte> record, const TfRecordPlace& place) {
  FM_ASSIGN_OR_RETURN(const uint64_t length,
                      ParseTfRecordHeader(record, record.size(), place));
  const auto data = record.subspan(kTfRecordHeaderBytes, length);
  if (MaskCrc32c(Crc32c(data)) != Load<uint32_t>(data.data() + length)) {
    return Corrupt(place, "the checksum of the data does not match");
  }
  return data;
}

bool IsTfRecord(std::span<const std::byte> record) {
  if (record.size() < kTfRecordOverheadBytes) return false;
  const size_t size = record.size() - kTfRecordOverheadBytes;
  const auto data = record.subspan(kTfRecordHeaderBytes, size);
  return Load<uint64_t>(record.data()) == size &&
         MaskCrc32c(Crc32c(record.first(8))) ==
             Load<uint32_t>(record.data() + 8) &&
         MaskCrc32c(Crc32c(data)) == Load<uint32_t>(data.data() + size);
}

}  // namespace feedmill

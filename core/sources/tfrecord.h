#ifndef FEEDMILL_CORE_SOURCES_TFRECORD_H_
#define FEEDMILL_CORE_SOURCES_TFRECORD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// A TFRecord file is records of
//   uint64 length, uint32 masked CRC-32C of the length,
//   byte data[length], uint32 masked CRC-32C of the data (little-endian).
inline constexpr uint64_t kTfRecordHeaderBytes = 12;
inline constexpr uint64_t kTfRecordOverheadBytes = 16;

// Which record an error is about.
struct TfRecordPlace {
  const std::string& path;
  uint64_t record = 0;
  uint64_t offset = 0;  // of its header
};

// The length of the record that begins with `bytes`, `left` bytes before the
// end of the file (bytes.size() <= left). DataLoss if it cannot be.
absl::StatusOr<uint64_t> ParseTfRecordHeader(std::span<const std::byte> bytes,
                                             uint64_t left,
                                             const TfRecordPlace& place);

// The data of a whole record, its data checksum verified.
absl::StatusOr<std::span<const std::byte>> ParseTfRecord(
    std::span<const std::byte> record, const TfRecordPlace& place);

// Whether that is a whole record and nothing else: sooner known than why not.
bool IsTfRecord(std::span<const std::byte> record);
// What should be such a record, and where its data is to be copied to.
struct TfRecordCopy {
  std::span<const std::byte> record;
  std::byte* data = nullptr;  // room for record.size() less the overhead
};
// Copies the data of such, and checks the copies: how many of the first are
// records, whatever others write to these meanwhile. (Room of others may have
// been written to.)
size_t CopyTfRecords(std::span<const TfRecordCopy> copies);
// How many of the first records are. Record k is between offsets[k] and
// offsets[k + 1], counted from the first one at the beginning of `records`.
size_t CountTfRecords(std::span<const std::byte> records,
                      std::span<const uint64_t> offsets);
// The data of such a record.
inline std::span<const std::byte> TfRecordData(
    std::span<const std::byte> record) {
  return record.subspan(kTfRecordHeaderBytes,
                        record.size() - kTfRecordOverheadBytes);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_TFRECORD_H_

#ifndef FEEDMILL_CORE_SOURCES_TFRECORD_H_
#define FEEDMILL_CORE_SOURCES_TFRECORD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// A TFRecord file is a sequence of records:
//   uint64 length, uint32 masked CRC-32C of the length,
//   byte data[length], uint32 masked CRC-32C of the data (little-endian).
inline constexpr uint64_t kTfRecordHeaderBytes = 12;
inline constexpr uint64_t kTfRecordOverheadBytes = 16;

// The record that an error is about.
struct TfRecordPlace {
  const std::string& path;
  uint64_t record = 0;
  uint64_t offset = 0;  // of the record's header
};

// Returns the data length of the record that begins with `bytes`, `left` bytes
// before the end of the file. DataLoss if it is invalid. REQUIRES: bytes.size()
// <= left.
absl::StatusOr<uint64_t> ParseTfRecordHeader(std::span<const std::byte> bytes,
                                             uint64_t left,
                                             const TfRecordPlace& place);

// Returns the data of a complete record after checking its checksums.
absl::StatusOr<std::span<const std::byte>> ParseTfRecord(
    std::span<const std::byte> record, const TfRecordPlace& place);

// True if `record` is exactly one valid record. Faster than ParseTfRecord,
// which says what is wrong.
bool IsTfRecord(std::span<const std::byte> record);
// A range that should be a record, and the address to copy its data to.
struct TfRecordCopy {
  std::span<const std::byte> record;
  std::byte* data = nullptr;  // room for record.size() less the overhead
};
// Copies the data of the records and checks the copies, so that concurrent
// writes to the source cannot go undetected. Returns the number of leading
// valid records. The memory of later ones may have been written, too.
size_t CopyTfRecords(std::span<const TfRecordCopy> copies);
// Returns the number of leading valid records. Record k is between offsets[k]
// and offsets[k + 1]; offsets[0] is the beginning of `records`.
size_t CountTfRecords(std::span<const std::byte> records,
                      std::span<const uint64_t> offsets);
// Returns the data of a valid record.
inline std::span<const std::byte> TfRecordData(
    std::span<const std::byte> record) {
  return record.subspan(kTfRecordHeaderBytes,
                        record.size() - kTfRecordOverheadBytes);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_TFRECORD_H_

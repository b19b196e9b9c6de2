#include "core/sources/tfrecord.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "core/base/prefetch.h"
#include "core/base/status.h"
#include "core/io/byte_stream.h"
#include "core/sources/compression_inference.h"
#include "core/sources/crc32c.h"
#include "core/sources/crc32c_instructions.h"

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

bool HasItsLength(std::span<const std::byte> record) {
  return record.size() >= kTfRecordOverheadBytes &&
         Load<uint64_t>(record.data()) ==
             record.size() - kTfRecordOverheadBytes;
}

bool HasChecksums(std::span<const std::byte> record, uint32_t of_length,
                  uint32_t of_data) {
  const std::byte* const end = record.data() + record.size();
  return MaskCrc32c(of_length) == Load<uint32_t>(record.data() + 8) &&
         MaskCrc32c(of_data) == Load<uint32_t>(end - 4);
}

std::span<const std::byte> RecordAt(std::span<const std::byte> records,
                                    std::span<const uint64_t> offsets,
                                    size_t k) {
  return records.subspan(offsets[k] - offsets[0], offsets[k + 1] - offsets[k]);
}

// The destination of a copy is prefetched kCopiesAhead copies earlier, and a
// copy is checked kCheckedBehind copies later. So checks overlap with memory
// latency.
constexpr size_t kCopiesAhead = 2;
constexpr size_t kCheckedBehind = 2;

// Copies the data of range k, if it can be a record.
[[gnu::always_inline]] inline void CopyData(
    std::span<const TfRecordCopy> copies, size_t k) {
  if (k + kCopiesAhead < copies.size()) {
    const TfRecordCopy& ahead = copies[k + kCopiesAhead];
    PrefetchToWrite(ahead.data,
                    std::min(ahead.record.size(), kPrefetchedBytesMax));
  }
  const auto& [record, to] = copies[k];
  if (record.size() <= kTfRecordOverheadBytes) return;
  const std::span<const std::byte> data = TfRecordData(record);
  std::memcpy(to, data.data(), data.size());
}

size_t CopyPortable(std::span<const TfRecordCopy> copies) {
  for (size_t k = 0; k < copies.size(); ++k) {
    CopyData(copies, k);
    const auto& [record, data] = copies[k];
    if (!HasItsLength(record)) return k;
    const std::array<uint64_t, 1> length = {record.size() -
                                            kTfRecordOverheadBytes};
    if (!HasChecksums(record, Crc32cPortable(std::as_bytes(std::span(length))),
                      Crc32cPortable({data, length[0]}))) {
      return k;
    }
  }
  return copies.size();
}

size_t CountPortable(std::span<const std::byte> records,
                     std::span<const uint64_t> offsets) {
  size_t count = 0;
  for (; count + 1 < offsets.size(); ++count) {
    const auto record = RecordAt(records, offsets, count);
    if (!HasItsLength(record) ||
        !HasChecksums(record, Crc32cPortable(record.first(8)),
                      Crc32cPortable(TfRecordData(record)))) {
      break;
    }
  }
  return count;
}

#if defined(__x86_64__)
// One loop for many records, so that the processor overlaps the checksums of
// consecutive records.
[[gnu::target("sse4.2,pclmul")]] size_t CountByInstructions(
    std::span<const std::byte> records, std::span<const uint64_t> offsets) {
  size_t count = 0;
  for (; count + 1 < offsets.size(); ++count) {
    const auto record = RecordAt(records, offsets, count);
    if (!HasItsLength(record) ||
        !HasChecksums(record, Crc32cOfWord(Load<uint64_t>(record.data())),
                      Crc32cInstructions(TfRecordData(record)))) {
      break;
    }
  }
  return count;
}

[[gnu::target("sse4.2,pclmul")]] size_t CopyByInstructions(
    std::span<const TfRecordCopy> copies) {
  for (size_t k = 0; k < copies.size() + kCheckedBehind; ++k) {
    if (k < copies.size()) CopyData(copies, k);
    if (k < kCheckedBehind) continue;
    const auto& [record, data] = copies[k - kCheckedBehind];
    if (!HasItsLength(record)) return k - kCheckedBehind;
    const size_t length = record.size() - kTfRecordOverheadBytes;
    if (!HasChecksums(record, Crc32cOfWord(length),
                      Crc32cInstructions({data, length}))) {
      return k - kCheckedBehind;
    }
  }
  return copies.size();
}
#endif

}  // namespace

absl::StatusOr<uint64_t> ParseTfRecordHeader(std::span<const std::byte> bytes,
                                             uint64_t left,
                                             const TfRecordPlace& place) {
  if (left < kTfRecordOverheadBytes || bytes.size() < kTfRecordHeaderBytes) {
    return Corrupt(place, "the file ends inside the record's header");
  }
  const uint64_t length = Load<uint64_t>(bytes.data());
  if (MaskCrc32c(Crc32c(bytes.first(8))) != Load<uint32_t>(bytes.data() + 8)) {
    std::string what =
        "the checksum of the length does not match (not a TFRecord file, or a "
        "damaged one)";
    const std::string advice =
        place.offset > 0
            ? ""
            : FormatAdvice({reinterpret_cast<const char*>(bytes.data()),
                            std::min(bytes.size(), kCompressionBytes)});
    if (!advice.empty()) what += "; " + advice;
    return Corrupt(place, what);
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
  const std::array<uint64_t, 2> offsets = {0, record.size()};
  return CountTfRecords(record, offsets) == 1;
}

size_t CopyTfRecords(std::span<const TfRecordCopy> copies) {
#if defined(__x86_64__)
  if (HasCrc32cInstructions()) return CopyByInstructions(copies);
#endif
  return CopyPortable(copies);
}

size_t CountTfRecords(std::span<const std::byte> records,
                      std::span<const uint64_t> offsets) {
#if defined(__x86_64__)
  if (HasCrc32cInstructions()) return CountByInstructions(records, offsets);
#endif
  return CountPortable(records, offsets);
}

}  // namespace feedmill

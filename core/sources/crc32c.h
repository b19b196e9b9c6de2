#ifndef FEEDMILL_CORE_SOURCES_CRC32C_H_
#define FEEDMILL_CORE_SOURCES_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace feedmill {

// CRC-32C (Castagnoli) of the bytes; SSE4.2's instruction where there is one.
uint32_t Crc32c(std::span<const std::byte> bytes);
// The same from a table, for machines without it and for tests.
uint32_t Crc32cPortable(std::span<const std::byte> bytes);

// TFRecord's form of it: rotated right by 15 bits and offset, so that the CRC
// of data that holds CRCs stays useful.
constexpr uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_CRC32C_H_

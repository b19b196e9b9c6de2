#ifndef FEEDMILL_CORE_SOURCES_CRC32C_H_
#define FEEDMILL_CORE_SOURCES_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace feedmill {

// Returns the CRC-32C (Castagnoli) of the bytes; uses the SSE4.2 instruction if
// the processor has it.
uint32_t Crc32c(std::span<const std::byte> bytes);
// Same with a table, for other processors and for tests.
uint32_t Crc32cPortable(std::span<const std::byte> bytes);

// Returns TFRecord's masked CRC: rotated right by 15 bits, plus a constant. The
// mask keeps the CRC of data that contains CRCs useful.
constexpr uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_CRC32C_H_

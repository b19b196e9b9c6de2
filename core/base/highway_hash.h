#ifndef FEEDMILL_CORE_BASE_HIGHWAY_HASH_H_
#define FEEDMILL_CORE_BASE_HIGHWAY_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace feedmill {

using HighwayKey = std::array<uint64_t, 4>;

// Returns the 64-bit HighwayHash of `bytes`, with AVX2 if LoopTarget() has it.
uint64_t HighwayHash64(const HighwayKey& key, std::span<const std::byte> bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_HIGHWAY_HASH_H_

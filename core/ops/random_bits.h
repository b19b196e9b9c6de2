#ifndef FEEDMILL_CORE_OPS_RANDOM_BITS_H_
#define FEEDMILL_CORE_OPS_RANDOM_BITS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/dataset/function_registry.h"

namespace feedmill {

// The random bits of a random function in one row: the block in its first
// argument, and further blocks keyed by it.
class RandomBits {
 public:
  RandomBits(const Argument& argument, size_t row);

  uint64_t First() const { return words_[0] | uint64_t{words_[1]} << 32; }
  uint64_t Second() const { return words_[2] | uint64_t{words_[3]} << 32; }
  // Returns block k: key First(), counter (k, Second()).
  std::array<uint32_t, 4> Block(uint64_t k) const;
  // Returns the first 64 bits of block k.
  uint64_t OfItem(uint64_t k) const;

 private:
  std::array<uint32_t, 4> words_;
};

// Returns a number in [0, 1), a multiple of 2^-53.
inline double UnitInterval(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Returns an integer in [0, range): the high half of the product.
inline uint64_t BelowRange(uint64_t bits, uint64_t range) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * range >>
                               64);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_RANDOM_BITS_H_

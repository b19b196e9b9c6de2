#include "core/ops/random_bits.h"

#include <cstring>

#include "core/base/philox.h"
#include "core/ops/row_items.h"

namespace feedmill {

RandomBits::RandomBits(const Argument& argument, size_t row) {
  std::memcpy(
      words_.data(),
      argument.column->values.data() + RowOf(argument, row) * sizeof(words_),
      sizeof(words_));
}

std::array<uint32_t, 4> RandomBits::Block(uint64_t k) const {
  return Philox({First(), 0}, k, Second());
}

uint64_t RandomBits::OfItem(uint64_t k) const {
  const std::array<uint32_t, 4> block = Block(k);
  return block[0] | uint64_t{block[1]} << 32;
}

}  // namespace feedmill

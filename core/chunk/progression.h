#ifndef FEEDMILL_CORE_CHUNK_PROGRESSION_H_
#define FEEDMILL_CORE_CHUNK_PROGRESSION_H_

#include <cstddef>
#include <cstdint>

namespace feedmill {

// The int64 items first, first + step, first + 2 * step, …, as unsigned
// numbers, because they may wrap after the end of a sequence. A column of them
// need not be stored.
struct Progression {
  uint64_t first = 0;
  uint64_t step = 0;

  Progression From(uint64_t item) const { return {first + item * step, step}; }
  // Writes the first `count` items.
  void Fill(uint64_t* items, size_t count) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_PROGRESSION_H_

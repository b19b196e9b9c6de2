#ifndef FEEDMILL_CORE_CHUNK_ORDER_HASH_H_
#define FEEDMILL_CORE_CHUNK_ORDER_HASH_H_

#include <cstdint>
#include <string>

#include "feedmill/element.h"

namespace feedmill {

// Folds a sequence of elements into 64 bits that depend on every byte and on
// the order (docs/semantics/order.md, Order hash):
//   h0 = 0,  hn = XXH3_64(h(n-1) || XXH3_64(element)).
class OrderHash {
 public:
  // Adds rows [begin, end) of `chunk` in order.
  void Add(const Chunk& chunk, size_t begin, size_t end);
  void Add(const Chunk& chunk) { Add(chunk, 0, chunk.rows); }

  uint64_t value() const { return value_; }
  // 16 lower-case hex digits.
  std::string Hex() const;

 private:
  void AddFixed(const Chunk& chunk, size_t begin, size_t end);

  uint64_t value_ = 0;
  std::string scratch_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_ORDER_HASH_H_

#ifndef FEEDMILL_CORE_CHUNK_ENCODING_H_
#define FEEDMILL_CORE_CHUNK_ENCODING_H_

#include <cstddef>
#include <cstdint>

#include "feedmill/element.h"

namespace feedmill {

// The form in which the items of a column are stored.
struct Encoding {
  enum Kind : uint8_t {
    kPlain = 1,     // as Column says
    kSequence = 2,  // int64 scalars first, first + step, …, which no memory has
    kTrailing = 4,  // byte strings, each followed by `trailing` other bytes
  };
  using Kinds = uint8_t;  // a set of kinds

  Kind kind = kPlain;
  // Unsigned, because the numbers may wrap after the last row.
  uint64_t first = 0;
  uint64_t step = 0;
  size_t trailing = 0;

  // Writes the first `count` items. REQUIRES: kSequence.
  void Fill(uint64_t* items, size_t count) const;
};

// A borrowed column and its encoding.
struct EncodedView {
  EncodedView(const Column* plain) : column(plain) {}  // NOLINT: implicit
  EncodedView(const Column* items, const Encoding& encoded)
      : column(items), encoding(encoded) {}

  // Returns rows [begin, end). `slice` keeps them, if they are in memory.
  EncodedView Slice(size_t begin, size_t end, Column& slice) const;

  const Column* column;  // kSequence: without items
  Encoding encoding;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_ENCODING_H_

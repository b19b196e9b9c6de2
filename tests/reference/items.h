#ifndef FEEDMILL_TESTS_REFERENCE_ITEMS_H_
#define FEEDMILL_TESTS_REFERENCE_ITEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// What Philox's counter is for a record.
struct Counter {
  uint64_t p = 0, i = 0;
};

// An element with the counters of its records (one, or one a batch row).
struct Item {
  Element element;
  std::vector<Counter> counters;
};

// Rows as a batch, whose records have the counters b * size + k.
Item MakeBatch(const std::vector<Item>& rows, uint64_t b, uint64_t size);

// The component of that name, or the unnamed one.
Tensor& Find(Element& element, const std::string& name);

// Record k of a tensor whose first `depth` axes are batches.
Tensor RecordOf(const Tensor& t, size_t k, size_t depth);

Tensor Flip(const Tensor& image, bool horizontal);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_ITEMS_H_

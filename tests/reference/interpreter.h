#ifndef FEEDMILL_TESTS_REFERENCE_INTERPRETER_H_
#define FEEDMILL_TESTS_REFERENCE_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/dataset/graph.h"
#include "feedmill/element_spec.h"

// The naive interpreter that defines what a pipeline means
// (docs/semantics.md). It materialises every intermediate sequence, one
// element and one item at a time, and shares nothing with the product but the
// parsed Graph: no plan, kernel, chunk or hash code.

namespace feedmill::reference {

// One component's value. Numbers are kept as long double, which holds every
// int64, uint64 and double exactly.
struct Tensor {
  DType dtype = DType::kInt64;
  Shape shape;
  std::vector<long double> numbers;  // C order, unless dtype is kBytes
  std::vector<std::string> strings;  // C order, if dtype is kBytes
  bool bad = false;  // what the source has for it is none of its dtype
};

struct Component {
  std::string name;
  Tensor value;
};

using Element = std::vector<Component>;

struct Sequence {
  std::vector<Element> elements;
  // Making the element after the last one failed, and with what.
  bool failed = false;
  std::string failure;
  // What on_error left out on the way. Not of an endless repeat that brings
  // nothing: when that is given up is not defined.
  size_t skipped = 0;
};

// Runs `graph`. At most about `limit` elements of an endless pipeline are
// made. Files must exist; globs are expanded by glob(3).
Sequence Interpret(const Graph& graph, uint64_t seed, uint64_t iteration,
                   size_t limit);

// The order hash of the elements, 16 hex digits.
std::string OrderHash(const std::vector<Element>& elements);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_INTERPRETER_H_

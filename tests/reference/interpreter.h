#ifndef FEEDMILL_TESTS_REFERENCE_INTERPRETER_H_
#define FEEDMILL_TESTS_REFERENCE_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/dataset/graph.h"
#include "feedmill/element.h"

// The naive interpreter that defines the meaning of a pipeline
// (docs/semantics.md). It materialises every intermediate sequence, one element
// and one item at a time. It shares only the parsed Graph with the product: no
// plan, kernel, chunk or hash code.

namespace feedmill::reference {

// The value of a component. Numbers are stored as long double, which represents
// every int64, uint64 and double exactly.
struct Tensor {
  DType dtype = DType::kInt64;
  Shape shape;
  std::vector<long double> numbers;  // C order, unless dtype is kBytes
  std::vector<std::string> strings;  // C order, if dtype is kBytes
  bool bad = false;  // the source's value does not fit the dtype
};

struct Component {
  std::string name;
  Tensor value;
};

using Element = std::vector<Component>;

struct Sequence {
  std::vector<Element> elements;
  // True if the element after the last one failed, with the message.
  bool failed = false;
  std::string failure;
  // Number of elements skipped by on_error. Undefined for an infinite repeat
  // without elements.
  size_t skipped = 0;
};

// Runs `graph`. Makes about `limit` elements of an infinite pipeline. Files
// must exist; glob(3) expands globs.
Sequence Interpret(const Graph& graph, uint64_t seed, uint64_t iteration,
                   size_t limit);

// Returns the order hash of the elements, 16 hex digits.
std::string OrderHash(const std::vector<Element>& elements);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_INTERPRETER_H_

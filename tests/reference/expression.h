#ifndef FEEDMILL_TESTS_REFERENCE_EXPRESSION_H_
#define FEEDMILL_TESTS_REFERENCE_EXPRESSION_H_

#include <stdexcept>
#include <string>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// A dimension or an index, neither of which is negative here.
inline size_t Size(int64_t value) { return static_cast<size_t>(value); }

// A data error: the element cannot be computed.
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Evaluates `expr` for one element by NumPy 2's rules (NEP 50), item by item.
// Throws DataError, or std::logic_error for an expression that building should
// refuse.
Tensor Evaluate(const Expr& expr, const Element& element);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_EXPRESSION_H_

#ifndef FEEDMILL_TESTS_REFERENCE_EXPRESSION_H_
#define FEEDMILL_TESTS_REFERENCE_EXPRESSION_H_

#include <optional>
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
//
// A component n that may be null is followed by valid(n) (is_valid of Arrow).
// The value of a null is computed as any other value.
Tensor Evaluate(const Expr& expr, const Element& element);

// Returns false items for nulls, by the rules of SQL and Arrow; nullopt for an
// expression that is never null.
std::optional<Tensor> ValidityOf(const Expr& expr, const Element& element);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_EXPRESSION_H_

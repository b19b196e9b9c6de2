#ifndef FEEDMILL_TESTS_REFERENCE_TENSOR_FUNCTIONS_H_
#define FEEDMILL_TESTS_REFERENCE_TENSOR_FUNCTIONS_H_

#include <functional>
#include <optional>
#include <vector>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Evaluates a function that rearranges or counts items; nullopt for other
// functions. `argument` evaluates an argument; for list, concat and stack
// all parts have their common dtype. Throws DataError.
std::optional<Tensor> TensorFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument);

// Returns the integer `expr`, or the integers of a list.
std::vector<int64_t> IntegersOf(const Expr& expr);

// Returns every line of `a` along an axis, in the order of a reduction's
// result.
std::vector<Tensor> LinesAlong(const Tensor& a, int64_t axis);
// Returns the shape of that result.
Shape WithoutAxis(Shape shape, int64_t axis);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_TENSOR_FUNCTIONS_H_

#ifndef FEEDMILL_TESTS_REFERENCE_TENSOR_FUNCTIONS_H_
#define FEEDMILL_TESTS_REFERENCE_TENSOR_FUNCTIONS_H_

#include <functional>
#include <optional>
#include <vector>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// The result of a function that moves items about (reshape, slice, transpose,
// gather, one_hot, cumsum, argmin, argmax, list, concat, stack), or nullopt
// for another one. `argument` evaluates; for list, concat and stack it gives
// all parts in their common dtype. Throws DataError.
std::optional<Tensor> TensorFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument);

// The integer that `expr` is, or the integers that it lists.
std::vector<int64_t> IntegersOf(const Expr& expr);

// Every line of `a` along an axis, in the order of the items of a reduction's
// result.
std::vector<Tensor> LinesAlong(const Tensor& a, int64_t axis);
// The shape of that result.
Shape WithoutAxis(Shape shape, int64_t axis);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_TENSOR_FUNCTIONS_H_

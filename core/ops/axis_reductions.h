#ifndef FEEDMILL_CORE_OPS_AXIS_REDUCTIONS_H_
#define FEEDMILL_CORE_OPS_AXIS_REDUCTIONS_H_

#include <string_view>

#include "core/dataset/function_registry.h"

namespace feedmill {

// sum, prod, min, max, mean, any or all of (a, axis). Items are folded in
// order. The result has the dtype of the same function of (a) alone.
absl::StatusOr<ValueType> InferAxisReduction(std::string_view function,
                                             DType result_dtype,
                                             const ValueType& value,
                                             const ValueType& axis);
absl::Status ComputeAxisReduction(std::string_view function,
                                  std::span<const Argument> arguments,
                                  size_t rows, const ValueType& type,
                                  OutputColumn& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_AXIS_REDUCTIONS_H_

#ifndef FEEDMILL_CORE_OPS_PROMOTION_H_
#define FEEDMILL_CORE_OPS_PROMOTION_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// The dtype that NumPy 2 gives to two arrays together.
// REQUIRES: neither is kBytes.
DType PromoteDTypes(DType a, DType b);

// Whether the type is a Python integer or float literal, which adapts to the
// other operands. (A Python bool promotes as the dtype bool does.)
bool IsWeakInteger(const ValueType& type);
bool IsWeakFloat(const ValueType& type);

// Whether a weak integer can be had in `dtype` without change; true for floats.
bool LiteralFits(const Expr::Literal& literal, DType dtype);
// "300", "'cat'": for messages.
std::string LiteralText(const Expr::Literal& literal);

// The dtype of the operands together, literals taking the others' (NEP 50).
// InvalidArgument for bytes among numbers. Whether the literals fit what is
// computed in, which may be another dtype, is for CheckLiterals.
absl::StatusOr<DType> CommonDType(std::string_view function,
                                  std::span<const ValueType* const> types);

// InvalidArgument if an integer literal does not fit `calc`.
absl::Status CheckLiterals(std::string_view function,
                           std::span<const ValueType* const> types, DType calc);

// The shape of two rows together; unknown dims stay unknown where the other is
// 1 or unknown. InvalidArgument if they cannot be broadcast.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PROMOTION_H_

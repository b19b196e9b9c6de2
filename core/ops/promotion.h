#ifndef FEEDMILL_CORE_OPS_PROMOTION_H_
#define FEEDMILL_CORE_OPS_PROMOTION_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// Returns the dtype that NumPy 2 gives to an operation on two arrays. REQUIRES:
// neither is kBytes.
DType PromoteDTypes(DType a, DType b);

// True if the type is a Python integer or float literal, which adapts to the
// other operands. (A Python bool promotes as the dtype bool.)
bool IsWeakInteger(const ValueType& type);
bool IsWeakFloat(const ValueType& type);

// Returns the value of an int64 or float literal; nullopt for other types.
std::optional<double> ConstantOf(const ValueType& type);

// True if the integer literal has an exact value in `dtype`; always true for
// floats.
bool LiteralFits(const Expr::Literal& literal, DType dtype);
// Returns "300" or "'cat'", for messages.
std::string LiteralText(const Expr::Literal& literal);

// Returns the common dtype of the operands; literals adapt to the other
// operands (NEP 50). InvalidArgument for bytes among numbers. CheckLiterals
// checks whether literals fit the dtype of the computation, which may be
// another one.
absl::StatusOr<DType> CommonDType(std::string_view function,
                                  std::span<const ValueType* const> types);

// InvalidArgument if an integer literal does not fit `calc`.
absl::Status CheckLiterals(std::string_view function,
                           std::span<const ValueType* const> types, DType calc);

// Returns the shape of two rows after broadcasting. An unknown dim stays
// unknown if the other dim is 1 or unknown. InvalidArgument if they cannot be
// broadcast.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PROMOTION_H_

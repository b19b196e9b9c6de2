#ifndef FEEDMILL_CORE_DATASET_TYPE_INFERENCE_H_
#define FEEDMILL_CORE_DATASET_TYPE_INFERENCE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/function_registry.h"
#include "feedmill/element.h"
#include "feedmill/expr.h"

namespace feedmill {

// Finds the component that an expression or a step calls `name`; "x" is the
// single unnamed one. InvalidArgument lists the existing components.
absl::StatusOr<size_t> FindComponent(const ElementSpec& spec,
                                     std::string_view name);

// True for the name of a type that expressions may write without quotes, where
// no component has the name: cast(x, float32).
bool IsTypeWord(std::string_view name);

// Returns the type of a literal: weak, with itself as `literal`.
ValueType LiteralType(const Expr::Literal& literal);

// InvalidArgument if one value of the type takes more than 256 TiB, more than
// any memory, as far as its shape is known.
absl::Status CheckValueSize(DType dtype, const Shape& shape);

// Returns the type of one call, given its arguments' types, by asking the
// function. Bytes are text if all arguments of bytes are text, and the function
// keeps text whole; functions that only choose values keep the unit of times.
// InvalidArgument names the function and, if it is unknown, the
// nearest one.
absl::StatusOr<ValueType> InferCall(std::string_view function,
                                    const std::vector<ValueType>& arguments,
                                    const FunctionRegistry& registry);

// Returns the type of `expr` over elements of `spec`. A type that is still weak
// (an expression of literals only) becomes strong with its dtype; the caller
// does that. InvalidArgument says what does not fit, and where in the
// expression.
absl::StatusOr<ValueType> InferType(const Expr& expr, const ElementSpec& spec,
                                    const FunctionRegistry& registry);

// Returns the spec of the element that named expressions make of elements of
// `spec`: one component for each. InvalidArgument if an expression does not fit
// or is a list.
absl::StatusOr<ElementSpec> InferOutputs(const Outputs& outputs,
                                         const ElementSpec& spec,
                                         const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_TYPE_INFERENCE_H_

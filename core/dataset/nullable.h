#ifndef FEEDMILL_CORE_DATASET_NULLABLE_H_
#define FEEDMILL_CORE_DATASET_NULLABLE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "feedmill/element.h"
#include "feedmill/expr.h"

// Expressions over components that may be null (core/chunk/validity.h).

namespace feedmill {

// An expression without nulls: its value, and a scalar bool that is false where
// the value is null. The value of a null depends on the element only.
struct NullableExpr {
  Expr value;
  std::optional<Expr> valid;  // nullopt: never null
  // A bool of `and`, `or` or `not`: true where it is false. Its value is then
  // false where it is null.
  std::optional<Expr> is_false{};
};

// Splits an expression over elements of `spec` into value and validity, and
// replaces is_null, fill_null and coalesce. Operators and most functions of a
// null are null; `and` and `or` have three values (Kleene), as in SQL and
// Arrow. InvalidArgument for a function that takes no nulls, and for an
// expression that gets too large.
absl::StatusOr<NullableExpr> SplitNulls(const Expr& expr,
                                        const ElementSpec& spec,
                                        const FunctionRegistry& registry);

// Returns a predicate that is false where `expr` is null.
absl::StatusOr<Expr> TrueAndValid(const Expr& expr, const ElementSpec& spec,
                                  const FunctionRegistry& registry);

// Adds the names of is_null, fill_null and coalesce, and their descriptions.
void AddNullFunctions(FunctionRegistry& registry);

// True if the value of an expression may be null. False for one that SplitNulls
// refuses.
bool IsNullable(const Expr& expr, const ElementSpec& spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_NULLABLE_H_

#include "core/operators/predicate_step.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/chunk/validity.h"
#include "core/dataset/source_types.h"
#include "core/dataset/type_inference.h"
#include "core/operators/type_checks.h"

namespace feedmill {

absl::StatusOr<ElementSpec> KeptBy(const Expr& predicate, const StepInput& in) {
  FM_ASSIGN_OR_RETURN(ValueType type,
                      InferType(predicate, in.spec, in.functions));
  if (type.list.has_value() || type.dtype != DType::kBool ||
      !type.shape.empty()) {
    return InvalidArgument(
        "the predicate must be one bool for an element, \"{}\" is {}{}; "
        "compare, or reduce with any(…) or all(…){}",
        predicate.ToString(), DTypeName(type.dtype), ShapeToString(type.shape),
        type.dtype == DType::kBytes &&
                std::holds_alternative<Expr::Literal>(predicate.node())
            ? "; in C++ a text is a constant, and Expr::Parse reads an "
              "expression"
            : "");
  }
  return in.spec;
}

Expr HashOf(std::string_view step, int64_t seed, const Outputs& by,
            const ElementSpec& in) {
  std::vector<Expr> hashed = {Expr(Expr::Literal{std::string(step)}), seed};
  for (const auto& [name, expr] : by) hashed.push_back(expr);
  if (by.empty()) {
    for (size_t c = 0; c < in.components.size(); ++c) {
      if (IsValidity(std::span(in.components), c)) continue;
      hashed.push_back(Expr::Named(NameOrX(in.components[c])));
    }
  }
  return Expr::Apply("hash_uniform", std::move(hashed));
}

}  // namespace feedmill

#include "core/operators/predicate_step.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct FilterOperator : PredicateStep<FilterOperator> {
  using Options = FilterStep;
  static constexpr std::string_view kName = "filter";
  static constexpr Description kDescription = {
      .summary =
          "Keeps the elements for which the expression, one bool, is true. "
          "Drops those for which it is null.",
      .yaml = R"(filter: "x % 3 != 0")",
      .element = "unchanged"};

  static FieldList Fields(FilterStep& s) {
    return {{"predicate", &s.predicate, Field::kWhole | Field::kRequired,
             "An expression that is one bool for an element."}};
  }
  static std::string Describe(const FilterStep& s) {
    return Shortened(s.predicate.ToString());
  }
  static const Expr& Predicate(const FilterStep& s, const ElementSpec&) {
    return s.predicate;
  }
};

}  // namespace

const StepKind& FilterKind() { return KindOf<FilterOperator>(); }

}  // namespace feedmill

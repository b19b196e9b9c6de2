#include "core/base/status.h"
#include "core/dataset/type_inference.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct FilterOperator : DropsUnneeded {
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
  static StepTraits Traits(const FilterStep&) {
    return {.needs = StepNeeds::kElement, .drops = true};
  }
  static std::string Describe(const FilterStep& s) {
    return Shortened(s.predicate.ToString());
  }
  static absl::StatusOr<ElementSpec> Output(const FilterStep& s,
                                            const StepInput& in) {
    FM_ASSIGN_OR_RETURN(ValueType type,
                        InferType(s.predicate, in.spec, in.functions));
    if (type.list.has_value() || type.dtype != DType::kBool ||
        !type.shape.empty()) {
      return InvalidArgument(
          "the predicate must be one bool for an element, \"{}\" is {}{}; "
          "compare, or reduce with any(…) or all(…)",
          s.predicate.ToString(), DTypeName(type.dtype),
          ShapeToString(type.shape));
    }
    return in.spec;
  }
  static ComponentMask Needed(const FilterStep& s, const ElementSpec& in,
                              const ComponentMask& needed) {
    ComponentMask out = needed;
    AddNeeded(s.predicate, in, out);
    return out;
  }
  static absl::Status Compile(const FilterStep& s, ProgramBuilder& program) {
    FM_ASSIGN_OR_RETURN(const ValueId predicate,
                        program.CompilePredicate(s.predicate));
    program.KeepRowsWhere(predicate);
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& FilterKind() { return KindOf<FilterOperator>(); }

}  // namespace feedmill

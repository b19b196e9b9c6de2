#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/batch_rows.h"

namespace feedmill {
namespace {

struct UnbatchOperator : NeedsAllComponents {
  using Options = UnbatchStep;
  static constexpr std::string_view kName = "unbatch";
  static constexpr Description kDescription = {
      .summary = "Makes an element of each row along the first axis.",
      .yaml = "unbatch:",
      .element = "each component loses its first dimension",
      .errors =
          "Reading raises InvalidArgumentError if a component has no first "
          "axis.",
      .example = R"(
>>> [int(x) for x in fm.Dataset.range(5).batch(3).unbatch().read()]
[0, 1, 2, 3, 4]
)"};

  static FieldList Fields(UnbatchStep&) { return {}; }
  static StepTraits Traits(const UnbatchStep&) {
    return {.needs = StepNeeds::kSequence, .batch_dims = BatchDims::kRemoved};
  }
  static std::string Describe(const UnbatchStep&) { return ""; }
  static absl::StatusOr<ElementSpec> Output(const UnbatchStep&,
                                            const StepInput& in) {
    return UnbatchedSpec(in.spec);
  }
  static ClientSteps MakeClientSteps(const UnbatchStep&,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t s) {
    return ClientStepsOf(MakeUnbatchRows(plan->graph().steps[s].output));
  }
};

}  // namespace

const StepKind& UnbatchKind() { return KindOf<UnbatchOperator>(); }

}  // namespace feedmill

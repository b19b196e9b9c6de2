#include "core/base/status.h"
#include "core/dataset/type_inference.h"
#include "core/operators/outputs.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/batch_rows.h"

namespace feedmill {
namespace {

struct FlatMapOperator : PassesComponents {
  using Options = FlatMapStep;
  static constexpr std::string_view kName = "flat_map";
  static constexpr Description kDescription = {
      .summary =
          "Makes the components that the expressions name, then an element of "
          "each row along their first axes.",
      .yaml = R"-(flat_map: "split(x, ' ')"
flat_map: {word: "split(x, ' ')"})-",
      .element =
          "as `map`, by workers; then each row along the first axis is an "
          "element",
      .details =
          "Expressions are written as for `map`. Workers compute them, and "
          "the client splits the results.",
      .errors =
          "Raises the errors of `map`. Reading raises InvalidArgumentError if "
          "a component has no rows.",
      .example = R"-(
>>> words = fm.Dataset.text("notes.txt").flat_map("split(x, ' ')")
>>> list(words.read())
[b'first', b'line', b'second', b'line', b'third', b'line']
)-"};

  static FieldList Fields(FlatMapStep& s) {
    return {{"outputs", &s.outputs, Field::kWhole | Field::kRequired,
             "An expression, or a map from names to expressions."}};
  }
  static StepTraits Traits(const FlatMapStep&) {
    return {.needs = StepNeeds::kSequence, .batch_dims = BatchDims::kRemoved};
  }
  static std::string Describe(const FlatMapStep& s) {
    return DescribeOutputs(s.outputs);
  }
  static absl::StatusOr<ElementSpec> Output(const FlatMapStep& s,
                                            const StepInput& in) {
    FM_ASSIGN_OR_RETURN(const ElementSpec mapped,
                        InferOutputs(s.outputs, in.spec, in.functions));
    if (mapped.components.empty()) {
      return InvalidArgument("it needs an expression");
    }
    return UnbatchedSpec(mapped);
  }
  // All outputs are needed, because their lengths are compared.
  static ComponentMask Needed(const FlatMapStep& s, const ElementSpec& in,
                              const ComponentMask&) {
    ComponentMask out(in.components.size());
    for (const auto& [name, expr] : s.outputs) AddNeeded(expr, in, out);
    return out;
  }
  static ComponentMask Made(const FlatMapStep&, const ElementSpec&,
                            const ComponentMask&, const ComponentMask& needed) {
    return ComponentMask(needed.size(), true);
  }
  // The expressions are a map, which workers run if they can; the client splits
  // the result.
  static absl::Status Compile(const FlatMapStep& s, ProgramBuilder& program) {
    return program.SetOutputs(s.outputs);
  }
  static ClientSteps MakeClientSteps(const FlatMapStep&,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t s) {
    return ClientStepsOf(MakeUnbatchRows(plan->graph().steps[s].output));
  }
};

}  // namespace

const StepKind& FlatMapKind() { return KindOf<FlatMapOperator>(); }

}  // namespace feedmill

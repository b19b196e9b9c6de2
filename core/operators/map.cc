#include "core/base/status.h"
#include "core/dataset/nullable.h"
#include "core/dataset/type_inference.h"
#include "core/operators/outputs.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct MapOperator : PassesComponents {
  using Options = MapStep;
  static constexpr std::string_view kName = "map";
  static constexpr Description kDescription = {
      .summary =
          "Makes exactly the components that the expressions name, one "
          "element for each.",
      .yaml = R"(map: "x * x"
map: {square: "x * x", half: "x / 2"})",
      .element = "exactly these components"};

  static FieldList Fields(MapStep& s) {
    return {{"outputs", &s.outputs, Field::kWhole | Field::kRequired,
             "An expression, or a map from names to expressions."}};
  }
  static StepTraits Traits(const MapStep&) {
    return {.needs = StepNeeds::kElement, .lists_components = true};
  }
  static std::string Describe(const MapStep& s) {
    return DescribeOutputs(s.outputs);
  }
  static absl::StatusOr<ElementSpec> Output(const MapStep& s,
                                            const StepInput& in) {
    return InferOutputs(s.outputs, in.spec, in.functions);
  }
  static ComponentMask Needed(const MapStep& s, const ElementSpec& in,
                              const ComponentMask& needed) {
    const ComponentMask made = FirstIfNone(needed);
    ComponentMask out(in.components.size());
    size_t k = 0;
    for (const auto& [name, expr] : s.outputs) {
      bool wanted = made[k++];
      if (IsNullable(expr, in)) wanted = made[k++] || wanted;
      if (wanted) AddNeeded(expr, in, out);
    }
    return out;
  }
  static ComponentMask Made(const MapStep&, const ElementSpec&,
                            const ComponentMask&, const ComponentMask& needed) {
    return FirstIfNone(needed);
  }
  static absl::Status Compile(const MapStep& s, ProgramBuilder& program) {
    return program.SetOutputs(s.outputs);
  }
};

}  // namespace

const StepKind& MapKind() { return KindOf<MapOperator>(); }

}  // namespace feedmill

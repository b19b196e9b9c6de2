#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/dataset/type_inference.h"
#include "core/operators/column_step.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct SelectOperator : ColumnStep<SelectOperator> {
  using Options = SelectStep;
  static constexpr std::string_view kName = "select";
  static constexpr Description kDescription = {
      .summary = "Keeps these components, in this order. Drops the others.",
      .yaml = "select: [age, name]",
      .element = "these components, in this order",
      .errors =
          "Reading raises InvalidArgumentError if a component is missing or "
          "named twice.",
      .example = R"(
>>> ds = fm.Dataset.range(1, 3).map(a="x", b="x + 1", c="x + 2")
>>> next(ds.select("c", "a").read())
{'c': np.int64(3), 'a': np.int64(1)}
)"};

  static FieldList Fields(SelectStep& s) {
    return {{"components", &s.components, Field::kShort | Field::kRequired,
             "Names of components."}};
  }
  static std::string Describe(const SelectStep& s) {
    return Shortened(absl::StrJoin(s.components, ", "));
  }
  static absl::StatusOr<std::vector<ChosenColumn>> Columns(
      const SelectStep& s, const ElementSpec& in) {
    std::vector<ChosenColumn> columns;
    for (const std::string& name : s.components) {
      FM_ASSIGN_OR_RETURN(const size_t input, FindColumn(in, name));
      AddColumn(name, input, in, columns);
    }
    return columns;
  }
  static absl::Status Compile(const SelectStep&, ProgramBuilder& program) {
    return program.SetOutputs({});
  }
};

}  // namespace

const StepKind& SelectKind() { return KindOf<SelectOperator>(); }

}  // namespace feedmill

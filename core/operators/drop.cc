#include <algorithm>
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

struct DropOperator : ColumnStep<DropOperator> {
  using Options = DropStep;
  static constexpr std::string_view kName = "drop";
  static constexpr Description kDescription = {
      .summary = "Drops these components. Keeps the others.",
      .yaml = "drop: [path]",
      .element = "the other components",
      .errors =
          "Reading raises InvalidArgumentError if a component is missing, or "
          "none stays.",
      .example = R"(
>>> next(fm.Dataset.range(1, 3).map(a="x", b="x + 1").drop("a").read())
{'b': np.int64(2)}
)"};

  static FieldList Fields(DropStep& s) {
    return {{"components", &s.components, Field::kShort | Field::kRequired,
             "Names of components."}};
  }
  static std::string Describe(const DropStep& s) {
    return Shortened(absl::StrJoin(s.components, ", "));
  }
  static absl::StatusOr<std::vector<ChosenColumn>> Columns(
      const DropStep& s, const ElementSpec& in) {
    std::vector<ChosenColumn> columns = AllColumns(in);
    for (const std::string& name : s.components) {
      FM_ASSIGN_OR_RETURN(const size_t input, FindColumn(in, name));
      RemoveColumn(input, in, columns);
    }
    if (columns.empty()) {
      return InvalidArgument("it drops all components; keep at least one");
    }
    return columns;
  }
  static absl::Status Compile(const DropStep&, ProgramBuilder& program) {
    return program.SetOutputs({});
  }
};

}  // namespace

const StepKind& DropKind() { return KindOf<DropOperator>(); }

}  // namespace feedmill

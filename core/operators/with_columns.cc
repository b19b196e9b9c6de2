#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/nullable.h"
#include "core/operators/column_step.h"
#include "core/operators/outputs.h"
#include "core/operators/step_kind_of.h"

namespace feedmill {
namespace {

struct WithColumnsOperator : ColumnStep<WithColumnsOperator> {
  using Options = WithColumnsStep;
  static constexpr std::string_view kName = "with_columns";
  static constexpr Description kDescription = {
      .summary =
          "Adds the components that the expressions name, or replaces "
          "components of their names. Keeps the others.",
      .yaml = R"(with_columns: {half: "x / 2"})",
      .element =
          "gains these components at its end, or has them in place of those "
          "of these names",
      .details =
          "Expressions are written as for `map`; they name components of the "
          "input, also replaced ones. New components come after the others.",
      .errors =
          "Raises the errors of `map`, and InvalidArgumentError if an output "
          "has no name.",
      .example = R"(
>>> next(fm.Dataset.range(1, 3).with_columns(half="x / 2").read())
{'x': np.int64(1), 'half': np.float64(0.5)}
)"};

  static FieldList Fields(WithColumnsStep& s) {
    return {{"outputs", &s.outputs, Field::kWhole | Field::kRequired,
             "A map from names to expressions."}};
  }
  static std::string Describe(const WithColumnsStep& s) {
    return DescribeOutputs(s.outputs);
  }
  static absl::StatusOr<std::vector<ChosenColumn>> Columns(
      const WithColumnsStep& s, const ElementSpec& in) {
    std::vector<ChosenColumn> columns = AllColumns(in);
    size_t inputs = columns.size();
    for (const auto& [name, expr] : s.outputs) {
      if (name.empty()) {
        return InvalidArgument(
            "\"{}\" has no name; write with_columns: {{name: \"{}\"}}",
            expr.ToString(), expr.ToString());
      }
      const auto end = columns.begin() + static_cast<ptrdiff_t>(inputs);
      auto at =
          std::ranges::find(columns.begin(), end, name, &ChosenColumn::name);
      if (at != end && at->expr == nullptr) {
        at->expr = &expr;
        if (MayBeNull(std::span(in.components), at->input)) {
          at = columns.erase(at + 1) - 1;
          --inputs;
        }
      } else {
        at = columns.insert(columns.end(), {name, &expr});
      }
      if (!IsNullable(expr, in)) continue;
      inputs += at < columns.begin() + static_cast<ptrdiff_t>(inputs) ? 1 : 0;
      columns.insert(at + 1, {ValidityName(name), &expr, 0, true});
    }
    return columns;
  }
  static absl::Status Compile(const WithColumnsStep& s,
                              ProgramBuilder& program) {
    return program.SetOutputs(s.outputs);
  }
};

}  // namespace

const StepKind& WithColumnsKind() { return KindOf<WithColumnsOperator>(); }

}  // namespace feedmill

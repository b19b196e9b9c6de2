#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/source_types.h"
#include "core/dataset/type_inference.h"
#include "core/operators/column_step.h"
#include "core/operators/outputs.h"
#include "core/operators/step_kind_of.h"

namespace feedmill {
namespace {

struct RenameOperator : ColumnStep<RenameOperator> {
  using Options = RenameStep;
  static constexpr std::string_view kName = "rename";
  static constexpr Description kDescription = {
      .summary = "Gives components other names. Keeps their order.",
      .yaml = "rename: {label: class}",
      .element = "unchanged, with other names",
      .errors =
          "Reading raises InvalidArgumentError if a component is missing, or "
          "two have one name.",
      .example = R"(
>>> next(fm.Dataset.range(1, 3).with_columns(y="x + 1").rename({"x": "a"}, y="b").read())
{'a': np.int64(1), 'b': np.int64(2)}
)"};

  static FieldList Fields(RenameStep& s) {
    return {{"names", &s.names, Field::kWhole | Field::kRequired,
             "A map from old names to new ones. A new name that is no "
             "identifier is written component('a name')."}};
  }
  static std::string Describe(const RenameStep& s) {
    return DescribeOutputs(s.names);
  }
  static absl::StatusOr<std::vector<ChosenColumn>> Columns(
      const RenameStep& s, const ElementSpec& in) {
    std::vector<ChosenColumn> columns = AllColumns(in);
    for (const auto& [old, renamed] : s.names) {
      const auto* name = std::get_if<Expr::Component>(&renamed.node());
      if (old.empty() || name == nullptr) {
        return InvalidArgument(
            "\"{}\" is not a map from an old name to a new one; write rename: "
            "{{old: new}}",
            renamed.ToString());
      }
      FM_RETURN_IF_ERROR(CheckNotReserved(name->name));
      FM_ASSIGN_OR_RETURN(const size_t input, FindColumn(in, old));
      columns[input].name = name->name;
      if (MayBeNull(std::span(in.components), input)) {
        columns[input + 1].name = ValidityName(name->name);
      }
    }
    return columns;
  }
  static absl::Status Compile(const RenameStep& s, ProgramBuilder& program) {
    Outputs outputs;
    for (const auto& [old, renamed] : s.names) {
      outputs.emplace_back(std::get<Expr::Component>(renamed.node()).name,
                           Expr::Named(old));
    }
    return program.SetOutputs(outputs);
  }
};

}  // namespace

const StepKind& RenameKind() { return KindOf<RenameOperator>(); }

}  // namespace feedmill

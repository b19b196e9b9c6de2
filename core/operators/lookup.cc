#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/lookup_step.h"
#include "core/dataset/source_types.h"
#include "core/dataset/type_inference.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/instructions.h"
#include "core/pipeline/lookup_table.h"

namespace feedmill {
namespace {

bool IsOfOneKind(DType a, DType b) {
  return a == b || (IsInteger(a) && IsInteger(b));
}

absl::Status CheckKey(const LookupStep& s, const ComponentSpec& column,
                      const StepInput& in) {
  FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(in.spec, s.key));
  const ComponentSpec& key = in.spec.components[c];
  if (in.batches > 0) {
    return InvalidArgument(
        "it takes one key for each element; write it before the batch");
  }
  if (key.shape.empty() && IsOfOneKind(key.dtype, column.dtype)) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "the key {} is {}, and the column {} of {} is {}; cast one of them",
      NameOrX(key), TypeText(key), column.name, TableText(s.table),
      TypeText(column));
}

// Returns the components of the columns that are taken.
std::vector<ComponentSpec> TakenBy(const LookupStep& s,
                                   const LookupColumns& columns) {
  const std::span all(columns.spec.components);
  std::vector<ComponentSpec> out;
  for (const size_t c : columns.taken) {
    out.push_back(all[c]);
    if (s.unmatched != Unmatched::kNulls || IsValidity(all, c) ||
        MayBeNull(all, c)) {
      continue;
    }
    out.push_back({ValidityName(all[c].name), DType::kBool, {}});
  }
  return out;
}

// Compiles the calls of one lookup.
class LookupCompiler {
 public:
  LookupCompiler(const LookupStep& s, LookupColumns columns,
                 ProgramBuilder& program)
      : s_(s),
        columns_(std::move(columns)),
        program_(program),
        in_(program.plan()->graph().InputOf(program.step()).components),
        functions_(s, program.functions()) {}

  absl::Status Compile() {
    std::vector<ValueId> made;
    for (const ComponentSpec& c : program_.made().components) {
      const auto kept = std::ranges::find(in_, c.name, NameOrX);
      if (kept != in_.end()) {
        made.push_back(
            program_.components()[static_cast<size_t>(kept - in_.begin())]);
      } else {
        FM_ASSIGN_OR_RETURN(made.emplace_back(), Made(c));
      }
    }
    std::optional<ValueId> keep;
    if (s_.unmatched == Unmatched::kDrop) {
      FM_ASSIGN_OR_RETURN(keep, Found());
    }
    program_.SetComponents(std::move(made));
    if (keep) program_.KeepRowsWhere(*keep);
    return absl::OkStatus();
  }

 private:
  // Returns the value of an added component.
  absl::StatusOr<ValueId> Made(const ComponentSpec& c) {
    const int column = columns_.spec.Find(c.name);
    if (column < 0) return Found();  // the validity of a column without one
    FM_ASSIGN_OR_RETURN(const Operand row, Row());
    return Call(functions_.column(c.name), {row}, c.dtype, c.shape).value;
  }

  absl::StatusOr<ValueId> Found() {
    if (found_) return *found_;
    FM_ASSIGN_OR_RETURN(const Operand row, Row());
    found_ = Call(functions_.found(), {row}, DType::kBool, {}).value;
    return *found_;
  }

  absl::StatusOr<Operand> Row() {
    if (row_) return *row_;
    FM_ASSIGN_OR_RETURN(const size_t key, FindComponent({in_}, s_.key));
    std::vector<Operand> arguments = {InputAt(key)};
    if (MayBeNull(std::span(in_), key)) arguments.push_back(InputAt(key + 1));
    row_ = Call(functions_.rows(s_.unmatched == Unmatched::kError),
                std::move(arguments), DType::kInt64, {});
    return *row_;
  }

  Operand InputAt(size_t c) const {
    return {TypeOf(in_[c].dtype, in_[c].shape), false, program_.components()[c],
            nullptr};
  }

  Operand Call(const FunctionRegistry::Function& function,
               std::vector<Operand> arguments, DType dtype,
               const Shape& shape) {
    Operand out{TypeOf(dtype, shape), false, program_.NewValue(), nullptr};
    program_.Emit(
        MakeCall(&function, std::move(arguments), out.type, out.value));
    return out;
  }

  static ValueType TypeOf(DType dtype, const Shape& shape) {
    ValueType type;
    type.dtype = dtype;
    type.shape = shape;
    return type;
  }

  const LookupStep& s_;
  const LookupColumns columns_;
  ProgramBuilder& program_;
  const std::vector<ComponentSpec>& in_;
  const LookupFunctions functions_;
  std::optional<Operand> row_;
  std::optional<ValueId> found_;
};

struct LookupOperator {
  using Options = LookupStep;
  static constexpr std::string_view kName = "lookup";
  static constexpr Description kDescription = {
      .summary =
          "Adds the columns of the row of a table whose key is the element's.",
      .yaml = R"(lookup: {table: labels.parquet, key: id}
lookup: {table: {source: {csv: {files: users.csv, delimiter: ";"}}}, key: user, table_key: id, columns: [age], unmatched: nulls})",
      .element = "gains the columns at its end",
      .details =
          "A key is an integer or bytes. A null key is in no row. Workers keep "
          "the columns in memory, at most 1 GiB. `table` is a name that says "
          "the kind of its files, or a source.",
      .errors =
          "Raises InvalidArgumentError if a column is missing or has the name "
          "of a component, or if two rows have one key. Reading raises "
          "DataLossError for a key that no row has, unless `unmatched` says "
          "otherwise.",
      .example = R"(
>>> users = fm.Dataset.from_dict({"id": [7, 8], "age": [30, 40]})
>>> clicks = fm.Dataset.from_dict({"id": [8, 7, 8]})
>>> [int(e["age"]) for e in clicks.lookup(users, "id").read()]
[40, 30, 40]
)"};
  static constexpr std::string_view kShortFormHint =
      "; write lookup: {table: FILE, key: COMPONENT}";

  static FieldList Fields(LookupStep& s) {
    return {{"table", InputPipelines{&s.table, true}, Field::kRequired,
             "Rows with their keys."},
            {"key", ComponentName{&s.key}, Field::kRequired,
             "The component that is looked for."},
            {"table_key", &s.table_key, Field::kSparse,
             "The column of the table with the keys.", "the name of `key`"},
            {"columns", &s.columns, Field::kSparse,
             "Columns of the table that become components.", "all others"},
            {"unmatched", Word(s.unmatched, {"error", "drop", "nulls"}),
             Field::kSparse,
             "A key that no row has: a data error, no element, or nulls."}};
  }
  static StepTraits Traits(const LookupStep& s) {
    return {.needs = StepNeeds::kElement,
            .drops = s.unmatched == Unmatched::kDrop};
  }
  static std::string Describe(const LookupStep& s) {
    return fmt::format("{} by {}", TableText(s.table), s.key);
  }
  static absl::StatusOr<ElementSpec> Output(const LookupStep& s,
                                            const StepInput& in) {
    FM_ASSIGN_OR_RETURN(const LookupColumns columns, ColumnsOf(s));
    FM_RETURN_IF_ERROR(CheckKey(s, columns.spec.components[columns.key], in));
    ElementSpec out = in.spec;
    for (ComponentSpec& c : out.components) c.name = NameOrX(c);
    for (ComponentSpec& c : TakenBy(s, columns)) {
      if (out.Find(c.name) >= 0) {
        return InvalidArgument(
            "{} has a column \"{}\", as the element has; name the others with "
            "`columns`, or rename the component before",
            TableText(s.table), c.name);
      }
      out.components.push_back(std::move(c));
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }
  static ComponentMask Needed(const LookupStep& s, const ElementSpec& in,
                              const ComponentMask& needed) {
    const auto inputs = static_cast<ptrdiff_t>(in.components.size());
    const ComponentMask all = FirstIfNone(needed);
    ComponentMask out(all.begin(), all.begin() + inputs);
    if (s.unmatched == Unmatched::kDrop ||
        std::find(all.begin() + inputs, all.end(), true) != all.end()) {
      AddNeeded(Expr::Named(s.key), in, out);
    }
    return out;
  }
  static ComponentMask Made(const LookupStep&, const ElementSpec& in,
                            const ComponentMask& made,
                            const ComponentMask& needed) {
    ComponentMask out = FirstIfNone(needed);
    for (size_t c = 0; c < in.components.size(); ++c) {
      out[c] = out[c] && made[c];
    }
    return out;
  }
  static absl::Status Compile(const LookupStep& s, ProgramBuilder& program) {
    FM_ASSIGN_OR_RETURN(LookupColumns columns, ColumnsOf(s));
    return LookupCompiler(s, std::move(columns), program).Compile();
  }
};

}  // namespace

const StepKind& LookupKind() { return KindOf<LookupOperator>(); }

}  // namespace feedmill

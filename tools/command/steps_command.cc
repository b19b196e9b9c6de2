#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/nearest_name.h"
#include "core/operators/registry.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

constexpr char kStepsSummary[] =
    "Lists the sources and steps that a pipeline may have. With names, lists\n"
    "the options of each. docs/steps.md has examples.";
constexpr char kStepsExamples[] =
    "Examples:\n"
    "  feedmill steps\n"
    "  feedmill steps csv resize";

// Describes the YAML values of a field.
struct TypeOfField {
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const double*) const { return "number"; }
  std::string operator()(const std::vector<int64_t>*) const {
    return "integers";
  }
  std::string operator()(const std::vector<double>*) const { return "numbers"; }
  std::string operator()(const std::vector<std::string>*) const {
    return "texts";
  }
  std::string operator()(const std::string*) const { return "text"; }
  std::string operator()(const ComponentName&) const { return "component"; }
  std::string operator()(const FilePath&) const { return "path"; }
  std::string operator()(const Word& word) const {
    return fmt::format("{}", fmt::join(word.words(), " or "));
  }
  std::string operator()(const Expr*) const { return "expression"; }
  std::string operator()(const Outputs*) const { return "expressions"; }
  std::string operator()(const Features*) const { return "types by name"; }
  std::string operator()(const PaddingList&) const { return "by component"; }
  std::string operator()(const FileNames&) const { return "files"; }
  std::string operator()(const FileCompression&) const { return "word"; }
  std::string operator()(const DeclaredFields&) const {
    return "types by name";
  }
  std::string operator()(const InputPipelines&) const { return "pipelines"; }
  template <class Integer>
  std::string operator()(const Integer*) const {
    static_assert(std::is_same_v<Integer, int64_t> ||
                  std::is_same_v<Integer, std::optional<int64_t>> ||
                  std::is_same_v<Integer, std::optional<uint64_t>>);
    return "integer";
  }
};

std::string ListText() {
  std::string text = "Sources\n";
  for (const SourceKind* const kind : SourceKinds()) {
    text += fmt::format("  {:<26}{}\n", kind->name(), kind->summary());
  }
  text += "\nSteps\n";
  for (const StepKind* const kind : StepKinds()) {
    text += fmt::format("  {:<26}{}\n", fmt::join(kind->names(), ", "),
                        kind->summary());
  }
  text += "\n'feedmill steps NAME' lists the options of one.\n";
  return text;
}

// Lists the options of a source or a step.
template <class Kind>
std::string OptionsText(std::string_view name, std::string_view summary,
                        const Configured<Kind>& one) {
  std::string text = fmt::format("{}: {}\n", name, summary);
  one.ReadFields([&](const FieldList& fields) {
    for (const Field& field : fields) {
      for (const std::string_view key : YamlKeysOf(field)) {
        text += fmt::format(
            "  {:<18}{:<20}{}{}\n", key, std::visit(TypeOfField{}, field.value),
            field.Has(Field::kRequired) ? "Required. " : "", field.help);
      }
    }
  });
  return text;
}

absl::StatusOr<std::string> TextOf(std::string_view name) {
  if (const SourceKind* const kind = FindSourceKind(name)) {
    return OptionsText(name, kind->summary(), kind->New());
  }
  if (const StepKind* const kind = FindStepKind(name)) {
    return OptionsText(name, kind->summary(), kind->New(name));
  }
  std::vector<std::string_view> known = SourceNames();
  const std::vector<std::string_view> steps = StepNames();
  known.insert(known.end(), steps.begin(), steps.end());
  return InvalidArgument(
      "there is no source or step \"{}\"{}; 'feedmill steps' lists all", name,
      DidYouMean(std::string(name), known));
}

}  // namespace

absl::StatusOr<int> RunSteps(const Invocation& invocation) {
  std::vector<std::string> names;
  FlagSet flags("steps", kStepsSummary, kStepsExamples);
  flags.Positionals("NAME", "Sources or steps; none: all, without options",
                    &names);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  std::string text = names.empty() ? ListText() : "";
  for (const std::string& name : names) {
    FM_ASSIGN_OR_RETURN(const std::string one, TextOf(name));
    if (!text.empty()) text += "\n";
    text += one;
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace feedmill

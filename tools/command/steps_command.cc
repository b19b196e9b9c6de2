#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "core/base/printable_text.h"
#include "core/base/status.h"
#include "core/dataset/foreign_names.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"
#include "tools/command/op_plugin_flag.h"

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kStepsSummary[] =
    "Lists the sources and steps that a pipeline may have. With names, lists\n"
    "the options of each, with their defaults, and how it is written.";
constexpr char kStepsExamples[] =
    "Examples:\n"
    "  feedmill steps\n"
    "  feedmill steps csv resize\n"
    "  feedmill steps --json";

constexpr char kFunctionsSummary[] =
    "Lists the functions that expressions may call. With names, explains each.";
constexpr char kFunctionsExamples[] =
    "Functions of plugins are listed, too. docs/expressions.md has the rules "
    "of\n"
    "expressions.\n"
    "\n"
    "Examples:\n"
    "  feedmill functions\n"
    "  feedmill functions image.resize sum\n"
    "  feedmill functions --json";

// Describes the value of a field that a pipeline leaves out.
struct DefaultOfField {
  std::string_view key;

  std::string operator()(bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(int64_t* v) const { return fmt::format("{}", *v); }
  std::string operator()(double* v) const { return fmt::format("{}", *v); }
  std::string operator()(std::string* v) const { return TextOrNone(*v); }
  std::string operator()(const ComponentName& v) const {
    return TextOrNone(*v.name);
  }
  std::string operator()(const FilePath& v) const {
    return TextOrNone(*v.path);
  }
  std::string operator()(const Word& v) const { return std::string(v.word()); }
  std::string operator()(std::vector<std::string>* v) const {
    if (v->empty()) return "none";
    std::vector<std::string> quoted;
    for (const std::string& text : *v) {
      quoted.push_back(fmt::format("\"{}\"", text));
    }
    return fmt::format("[{}]", fmt::join(quoted, ", "));
  }
  std::string operator()(const PaddingList&) const {
    return key == "shapes" ? "the longest" : "0, and \"\" for bytes";
  }
  template <class T>
  std::string operator()(const T&) const {
    return "none";
  }

  static std::string TextOrNone(const std::string& text) {
    if (text.empty()) return "none";
    if (text == "\"") return "'\"'";
    // A name stands by itself; other characters are hard to see without quotes.
    const bool name = std::all_of(text.begin(), text.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    return name ? text : fmt::format("\"{}\"", text);
  }
};

std::string DefaultText(const Field& field, std::string_view key) {
  return !field.unset.empty() && IsUnset(field.value)
             ? std::string(field.unset)
             : std::visit(DefaultOfField{key}, field.value);
}

std::string_view HelpText(const Field& field, std::string_view key) {
  if (!std::holds_alternative<PaddingList>(field.value)) return field.help;
  return key == "shapes" ? "Shapes to which rows are padded."
                         : "Values with which rows are padded.";
}

// Calls f(field, key) for each key of the options in YAML.
template <class Kind, class F>
void ForEachOption(const Configured<Kind>& one, F f) {
  one.ReadFields([&](const FieldList& fields) {
    for (const Field& field : fields) {
      for (const std::string_view key : YamlKeysOf(field)) f(field, key);
    }
  });
}

// Appends words to `text`, whose last line has `column` characters. Lines that
// would be longer than 80 columns continue at column `indent`.
void AppendWrapped(std::string_view words, size_t column, size_t indent,
                   std::string& text) {
  constexpr size_t kColumns = 80;
  bool first = true;
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    const std::string_view word = words.substr(begin, end - begin);
    begin = end + 1;
    const size_t size = CharactersOf(word);
    if (!first && column + 1 + size > kColumns) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) text += ' ';
    text += word;
    column += size + (first ? 0 : 1);
    first = false;
  }
  text += '\n';
}

// Appends a line `name  words`, with the words in a column of their own.
void AppendRow(std::string_view name, std::string_view words, size_t width,
               std::string& text) {
  text += fmt::format("  {:<{}}  ", name, width);
  const size_t indent = width + 4;
  if (name.size() > width) {
    text.pop_back();
    text.back() = '\n';
    text += std::string(indent, ' ');
  }
  AppendWrapped(words, indent, indent, text);
}

std::string ListText() {
  constexpr size_t kNameWidth = 26;
  std::string text = "Sources\n";
  for (const SourceKind* const kind : SourceKinds()) {
    AppendRow(kind->name(), kind->description().summary, kNameWidth, text);
  }
  text += "\nSteps\n";
  for (const std::string_view name : StepNames()) {
    AppendRow(name, FindStepKind(name)->description(name).summary, kNameWidth,
              text);
  }
  text += "\n'feedmill steps NAME' lists the options of one.\n";
  return text;
}

// Returns the summary, a line with name, type and default of each option with
// its help below it, the details and the forms in YAML.
template <class Kind>
std::string OneText(std::string_view name, const Description& description,
                    const Configured<Kind>& one) {
  std::string text;
  AppendWrapped(fmt::format("{}: {}", name, description.summary), 0, 2, text);
  size_t width = 0;
  ForEachOption(one, [&](const Field&, std::string_view key) {
    width = std::max(width, key.size());
  });
  ForEachOption(one, [&](const Field& field, std::string_view key) {
    const std::string value = field.Has(Field::kRequired)
                                  ? "required"
                                  : "default: " + DefaultText(field, key);
    AppendRow(key, fmt::format("{}; {}", TypeOf(field), value), width, text);
    text += std::string(width + 4, ' ');
    AppendWrapped(HelpText(field, key), width + 4, width + 4, text);
  });
  if (!description.details.empty()) {
    text += "  ";
    AppendWrapped(description.details, 2, 2, text);
  }
  const std::vector<std::string> forms =
      absl::StrSplit(std::string(description.yaml), '\n');
  for (const std::string& form : forms) {
    text += "  e.g. ";
    AppendWrapped(form, 7, 7, text);
  }
  return text;
}

absl::StatusOr<std::string> TextOf(std::string_view name) {
  if (const SourceKind* const kind = FindSourceKind(name)) {
    return OneText(name, kind->description(), kind->New());
  }
  if (const StepKind* const kind = FindStepKind(name)) {
    return OneText(name, kind->description(name), kind->New(name));
  }
  std::vector<std::string_view> known = SourceNames();
  const std::vector<std::string_view> steps = StepNames();
  known.insert(known.end(), steps.begin(), steps.end());
  return InvalidArgument(
      "there is no source or step \"{}\"{}; 'feedmill steps' lists all", name,
      NameHint(name, "", known));
}

template <class Kind>
Json JsonOf(std::string_view name, const Description& description,
            const Configured<Kind>& one) {
  Json options = Json::array();
  ForEachOption(one, [&](const Field& field, std::string_view key) {
    options.push_back({{"name", key},
                       {"type", TypeOf(field)},
                       {"required", field.Has(Field::kRequired)},
                       {"short", field.Has(Field::kShort)},
                       {"positional", field.Has(Field::kPositional)},
                       {"whole", field.Has(Field::kWhole)},
                       {"default", DefaultText(field, key)},
                       {"help", HelpText(field, key)}});
    if (const auto* const word = std::get_if<Word>(&field.value)) {
      options.back()["words"] = word->words();
    }
  });
  return {{"name", name},
          {"summary", description.summary},
          {"yaml", description.yaml},
          {"element", description.element},
          {"details", description.details},
          {"errors", description.errors},
          {"example", description.example},
          {"options", std::move(options)}};
}

// Returns the placement of a step behind a source.
std::string_view PlacementOf(const Step& step) {
  switch (NeedsOf(step)) {
    case StepNeeds::kElement:
      return "worker";
    case StepNeeds::kCounts:
      return "plan";
    case StepNeeds::kPlace:
      return "plan, or client";
    case StepNeeds::kSequence:
      return "client";
  }
  return "";
}

std::string AllJson() {
  Json sources = Json::array();
  for (const SourceKind* const kind : SourceKinds()) {
    sources.push_back(JsonOf(kind->name(), kind->description(), kind->New()));
    sources.back()["combines"] = kind->combiner() != nullptr;
  }
  Json steps = Json::array();
  for (const std::string_view name : StepNames()) {
    const StepKind* const kind = FindStepKind(name);
    const Step step = kind->New(name);
    steps.push_back(JsonOf(name, kind->description(name), step));
    steps.back()["placement"] = PlacementOf(step);
  }
  const Json all = {{"sources", std::move(sources)},
                    {"steps", std::move(steps)}};
  return all.dump(1) + "\n";
}

// ---- functions of expressions

absl::StatusOr<std::string> HelpText(const std::string& name,
                                     const FunctionRegistry& functions) {
  if (functions.Find(name) == nullptr) {
    return InvalidArgument(
        "there is no function \"{}\"{}; 'feedmill functions' lists all", name,
        NameHint(name, kFunctions, functions.Names()));
  }
  // Each call is followed by its notes.
  const std::vector<std::string> lines =
      absl::StrSplit(functions.HelpOf(name), '\n', absl::SkipEmpty());
  std::string text;
  for (size_t k = 0; k < lines.size(); ++k) {
    if (k % 2 == 1) text += "  ";
    AppendWrapped(lines[k], k % 2 == 1 ? 2 : 0, 2, text);
  }
  return text;
}

// Lists the descriptions of all functions, each once.
std::string FunctionsText(const FunctionRegistry& functions) {
  constexpr size_t kCallWidth = 26;
  std::set<std::pair<std::string, std::string>> listed;
  std::string text;
  for (const std::string_view name : functions.Names()) {
    const std::vector<std::string> lines =
        absl::StrSplit(functions.HelpOf(name), '\n');
    for (size_t k = 0; k + 1 < lines.size(); k += 2) {
      if (!listed.emplace(lines[k], lines[k + 1]).second) continue;
      AppendRow(lines[k], lines[k + 1], kCallWidth, text);
    }
  }
  return text + "\n'feedmill functions NAME' explains one.\n";
}

std::string FunctionsJson(const FunctionRegistry& functions) {
  Json all = Json::array();
  for (const FunctionDescription& one : functions.descriptions()) {
    all.push_back(
        {{"names", one.names}, {"written", one.written}, {"notes", one.notes}});
  }
  for (const std::string_view name : functions.Names()) {
    const std::string& plugin = functions.Find(name)->plugin;
    if (plugin.empty()) continue;
    all.push_back({{"names", {name}}, {"plugin", plugin}});
  }
  return all.dump(1) + "\n";
}

}  // namespace

absl::StatusOr<int> RunFunctions(const Invocation& invocation) {
  std::vector<std::string> names;
  bool json = false;
  OpPluginFlag op_plugins;
  FlagSet flags("functions", kFunctionsSummary, kFunctionsExamples);
  flags.Positionals("NAME", "Functions; none: all", &names);
  flags.Bool("--json", "Print all descriptions as JSON", &json);
  op_plugins.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  FM_ASSIGN_OR_RETURN(const auto functions,
                      op_plugins.AddTo(invocation.registry));
  std::string text = json            ? FunctionsJson(*functions)
                     : names.empty() ? FunctionsText(*functions)
                                     : "";
  for (const std::string& name : names) {
    FM_ASSIGN_OR_RETURN(const std::string one, HelpText(name, *functions));
    if (!text.empty()) text += "\n";
    text += one;
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

absl::StatusOr<int> RunSteps(const Invocation& invocation) {
  std::vector<std::string> names;
  bool json = false;
  FlagSet flags("steps", kStepsSummary, kStepsExamples);
  flags.Positionals("NAME", "Sources or steps; none: all, without options",
                    &names);
  flags.Bool("--json", "Print all of them with all options as JSON", &json);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  std::string text = json ? AllJson() : names.empty() ? ListText() : "";
  for (const std::string& name : names) {
    FM_ASSIGN_OR_RETURN(const std::string one, TextOf(name));
    if (!text.empty()) text += "\n";
    text += one;
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace feedmill

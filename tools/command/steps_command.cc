#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/dataset/nearest_name.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

constexpr char kStepsSummary[] =
    "Lists the sources and steps that a pipeline may have. With names, lists\n"
    "the options of each, with their defaults. docs/steps.md has examples.";
constexpr char kStepsExamples[] =
    "Examples:\n"
    "  feedmill steps\n"
    "  feedmill steps csv resize";

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
    // A name stands by itself; other characters are hard to see without quotes.
    const bool name = std::all_of(text.begin(), text.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    return name ? text : fmt::format("\"{}\"", text);
  }
};

std::string DefaultText(const Field& field, std::string_view key) {
  if (field.Has(Field::kRequired)) return "required";
  const std::string value = !field.unset.empty() && IsUnset(field.value)
                                ? std::string(field.unset)
                                : std::visit(DefaultOfField{key}, field.value);
  return "default: " + value;
}

std::string_view HelpText(const Field& field, std::string_view key) {
  if (!std::holds_alternative<PaddingList>(field.value)) return field.help;
  return key == "shapes" ? "Shapes to which rows are padded."
                         : "Values with which rows are padded.";
}

// Number of characters of UTF-8 text.
size_t CharactersOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
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
    AppendRow(kind->name(), kind->summary(), kNameWidth, text);
  }
  text += "\nSteps\n";
  for (const StepKind* const kind : StepKinds()) {
    AppendRow(fmt::format("{}", fmt::join(kind->names(), ", ")),
              kind->summary(), kNameWidth, text);
  }
  text += "\n'feedmill steps NAME' lists the options of one.\n";
  return text;
}

// Lists the options of a source or a step: a line with name, type and default,
// and the help below it.
template <class Kind>
std::string OptionsText(std::string_view name, std::string_view summary,
                        const Configured<Kind>& one) {
  std::string text;
  AppendWrapped(fmt::format("{}: {}", name, summary), 0, 2, text);
  one.ReadFields([&](const FieldList& fields) {
    size_t width = 0;
    for (const Field& field : fields) {
      for (const std::string_view key : YamlKeysOf(field)) {
        width = std::max(width, key.size());
      }
    }
    for (const Field& field : fields) {
      for (const std::string_view key : YamlKeysOf(field)) {
        AppendRow(key,
                  fmt::format("{}; {}", TypeOf(field), DefaultText(field, key)),
                  width, text);
        text += std::string(width + 4, ' ');
        AppendWrapped(HelpText(field, key), width + 4, width + 4, text);
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

#include "tools/command/flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "core/dataset/foreign_names.h"
#include "core/dataset/nearest_name.h"
#include "tools/command/config_text.h"

namespace feedmill {
namespace {

constexpr char kConfig[] = "--config";
constexpr char kPrintConfig[] = "--print-config";

struct Flag {
  FlagEntry entry;
  std::function<absl::Status(const std::string&)> take;
  std::function<std::string()> show;  // as in a config file; "": unset
  std::string source{};               // "": not given
  std::string bare{};  // value of the flag without a value; "": it needs one
};

// "--work-dir" → "work_dir".
std::string KeyOf(const Flag& flag) {
  std::string key = flag.entry.name.substr(flag.entry.name.rfind("--") + 2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::string UpperCase(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  return text;
}

std::string Shown(absl::Duration duration) {
  return absl::FormatDuration(duration);
}

}  // namespace

std::map<std::string, std::string> FeedmillVariables() {
  constexpr std::string_view kPrefix = "FEEDMILL_";
  std::map<std::string, std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const size_t equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == text.npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

struct FlagSet::App {
  explicit App(const std::string& command, const std::string& summary)
      : name("feedmill " + command), cli(summary, name) {}

  void Add(Flag flag) {
    const size_t index = flags.size();
    const std::string names = flag.entry.name;  // "-n,--elements"
    flag.entry.name = names.substr(names.find(',') + 1);
    flags.push_back(std::move(flag));
    const FlagEntry& entry = flags.back().entry;
    CLI::Option* const option = cli.add_option_function<std::string>(
        names,
        [this, index](const std::string& text) {
          Flag& taken = flags[index];
          const absl::Status status = taken.take(text);
          // CLI11 catches it and reports it with the flag's name.
          if (!status.ok()) {
            throw CLI::ValidationError(taken.entry.name, ErrorText(status));
          }
          taken.source = taken.entry.name;
        },
        entry.help);
    option->type_name(entry.type);
    if (!entry.shown_default.empty()) option->default_str(entry.shown_default);
  }

  template <class T>
  void AddCount(const std::string& flag, T min, T max, const std::string& help,
                T* value) {
    const auto show = [value, min, max] {
      return *value >= min && *value <= max ? fmt::format("{}", *value) : "";
    };
    Add({.entry = {flag, "N", help, show(), {}},
         .take =
             [min, max, value](const std::string& text) {
               const auto count = ParseCount(text, min, max);
               if (count.ok()) *value = static_cast<T>(*count);
               return count.status();
             },
         .show = show});
  }

  // Returns "--flag=VALUE" for a flag that has a value without being given one.
  std::string WithBareValue(const std::string& word) const {
    for (const Flag& flag : flags) {
      if (flag.entry.name == word && !flag.bare.empty()) {
        return fmt::format("{}={}", word, flag.bare);
      }
    }
    return word;
  }

  Flag* Find(std::string_view key) {
    for (Flag& flag : flags) {
      if (KeyOf(flag) == key) return &flag;
    }
    return nullptr;
  }
  std::vector<std::string> Keys() const {  // options allowed in a file
    std::vector<std::string> keys;
    for (const Flag& flag : flags) {
      if (flag.entry.name != kConfig) keys.push_back(KeyOf(flag));
    }
    return keys;
  }

  std::string name;
  CLI::App cli;
  FlagTable table;
  std::vector<Flag> flags;  // with a value, or boolean

  std::map<std::string, std::string> variables;
  std::string config_path;
  bool print_config = false;
};

FlagSet::FlagSet(const std::string& command, const std::string& summary,
                 const std::string& examples)
    : app_(std::make_unique<App>(command, summary)) {
  app_->table = {command, summary, examples, "", {}};
  app_->cli.set_help_flag("-h,--help", "Print this and exit");
  app_->cli.footer(examples);
  app_->cli.allow_extras();  // reported here, with the nearest known flag
  app_->cli.get_formatter()->column_width(34);
  app_->flags.reserve(64);  // callbacks hold indices, --help references
}

FlagSet::~FlagSet() = default;

void FlagSet::Positional(const std::string& name, const std::string& help,
                         std::string* value) {
  app_->table.entries.push_back({name, "", help, "", {}});
  app_->cli.add_option(name, *value, help)->type_name("");
}

void FlagSet::Positionals(const std::string& name, const std::string& help,
                          std::vector<std::string>* values) {
  app_->table.entries.push_back({name, "", help, "", {}});
  app_->cli.add_option(name, *values, help)->type_name("...");
}

void FlagSet::Bool(const std::string& name, const std::string& help,
                   bool* value) {
  const size_t index = app_->flags.size();
  Flag flag{.entry = {.name = name, .help = help}, .take = {}, .show = {}};
  flag.take = [value](const std::string& text) {
    if (text != "true" && text != "false") {
      return InvalidArgument("'{}' is neither true nor false", text);
    }
    *value = text == "true";
    return absl::OkStatus();
  };
  flag.show = [value] { return std::string(*value ? "true" : "false"); };
  app_->flags.push_back(std::move(flag));
  app_->cli.add_flag_callback(
      name,
      [app = app_.get(), index, value] {
        *value = true;
        app->flags[index].source = app->flags[index].entry.name;
      },
      help);
}

void FlagSet::Text(const std::string& name, const std::string& type,
                   const std::string& help, std::string* value) {
  app_->Add(
      {.entry = {name, type, help, *value, {}},
       .take =
           [value](const std::string& text) {
             if (text.empty()) return InvalidArgument("the value is empty");
             *value = text;
             return absl::OkStatus();
           },
       .show =
           [value] { return value->empty() ? "" : QuoteConfigValue(*value); }});
}

void FlagSet::OneOf(const std::string& name,
                    const std::vector<std::string>& choices,
                    const std::string& help, std::string* value) {
  const std::string list = fmt::format("{}", fmt::join(choices, "|"));
  app_->Add({.entry = {name, list, help, *value, choices},
             .take =
                 [value, choices, list](const std::string& text) {
                   if (std::find(choices.begin(), choices.end(), text) ==
                       choices.end()) {
                     return InvalidArgument("'{}' is none of {}", text, list);
                   }
                   *value = text;
                   return absl::OkStatus();
                 },
             .show = [value] { return QuoteConfigValue(*value); }});
}

void FlagSet::Count(const std::string& name, uint64_t min, uint64_t max,
                    const std::string& help, uint64_t* value) {
  app_->AddCount(name, min, max, help, value);
}

void FlagSet::Count(const std::string& name, uint32_t min, uint32_t max,
                    const std::string& help, uint32_t* value) {
  app_->AddCount(name, min, max, help, value);
}

void FlagSet::Range(const std::string& name, uint64_t min, uint64_t max,
                    const std::string& help, uint64_t* least, uint64_t* most) {
  const auto show = [least, most] { return FormatRange(*least, *most); };
  app_->Add({.entry = {name, "N[..M]", help, show(), {}},
             .take =
                 [least, most, min, max](const std::string& text) {
                   const auto range = ParseRange(text, min, max);
                   if (range.ok()) std::tie(*least, *most) = *range;
                   return range.status();
                 },
             .show = show});
}

void FlagSet::Duration(const std::string& name, const std::string& help,
                       absl::Duration* value, absl::Duration bare) {
  app_->Add({.entry = {name, "DURATION", help, Shown(*value), {}},
             .take =
                 [value](const std::string& text) {
                   const auto parsed = ParsePositiveDuration(text);
                   if (parsed.ok()) *value = *parsed;
                   return parsed.status();
                 },
             .show = [value] { return Shown(*value); },
             .bare = bare > absl::ZeroDuration() ? Shown(bare) : ""});
}

void FlagSet::Bytes(const std::string& name, const std::string& help,
                    uint64_t* value) {
  const auto show = [value] { return *value == 0 ? "" : FormatBytes(*value); };
  app_->Add({.entry = {name, "SIZE", help, show(), {}},
             .take =
                 [value](const std::string& text) {
                   const auto parsed = ParseBytes(text);
                   if (parsed.ok()) *value = *parsed;
                   return parsed.status();
                 },
             .show = show});
}

void FlagSet::Configurable(std::map<std::string, std::string> variables) {
  App& app = *app_;
  app.table.variable_prefix = "FEEDMILL_" + UpperCase(app.table.command) + "_";
  app.variables = std::move(variables);
  Text(kConfig, "FILE",
       "YAML file with values for options that no flag or variable sets",
       &app.config_path);
  app.cli.add_flag_callback(
      kPrintConfig, [&app] { app.print_config = true; },
      "Print the options in effect, as such a file, and exit");
  std::string key, variable;
  for (const Flag& flag : app.flags) {
    if (flag.entry.name.find('-', 2) == std::string::npos) continue;
    key = KeyOf(flag);
    variable = app.table.variable_prefix + UpperCase(key);
    app.cli.footer(fmt::format(
        "{} may also be the variable {},\nor '{}: ...' in the file of "
        "--config, and so may every flag; a flag wins over\na variable, that "
        "over the file.\n\n{}",
        flag.entry.name, variable, key, app.table.examples));
    break;
  }
}

absl::StatusOr<bool> FlagSet::Parse(const std::vector<std::string>& arguments,
                                    FlagTable* describe) {
  App& app = *app_;
  for (const Flag& flag : app.flags) app.table.entries.push_back(flag.entry);
  if (!app.table.variable_prefix.empty()) {
    app.table.entries.push_back(
        {.name = kPrintConfig, .help = "Print the options in effect"});
  }
  app.table.entries.push_back({.name = "--help", .help = "Print help"});
  if (describe != nullptr) {
    *describe = app.table;
    return false;
  }
  bool help = false;
  FM_RETURN_IF_ERROR(ParseWords(arguments, &help));
  if (help) {
    std::fputs(app.cli.help().c_str(), stdout);
    return false;
  }
  if (app.table.variable_prefix.empty()) return true;
  FM_RETURN_IF_ERROR(TakeVariables());
  FM_RETURN_IF_ERROR(TakeFile());
  if (!app.print_config) return true;
  std::fputs(PrintedConfig().c_str(), stdout);
  return false;
}

absl::Status FlagSet::ParseWords(const std::vector<std::string>& arguments,
                                 bool* help) {
  // CLI11 expects the words in reverse order.
  std::vector<std::string> reversed;
  for (auto word = arguments.rbegin(); word != arguments.rend(); ++word) {
    const bool last = reversed.empty() || reversed.back().starts_with("-");
    reversed.push_back(last ? app_->WithBareValue(*word) : *word);
  }
  try {
    app_->cli.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    *help = true;
    return absl::OkStatus();
  } catch (const CLI::ParseError& error) {
    return Error(error.what());
  }
  std::vector<std::string_view> known;
  for (const FlagEntry& entry : app_->table.entries) {
    if (entry.name.starts_with("--")) known.emplace_back(entry.name);
  }
  const std::vector<std::string> extras = app_->cli.remaining();
  for (const std::string& word : extras) {
    if (word.empty() || word.front() != '-') continue;
    const std::string flag = word.substr(0, word.find('='));
    std::string hint = DidYouMean(flag, known);
    if (hint.empty()) hint = NameHint(flag, "", {});
    return Error(fmt::format("unknown flag \"{}\"{}", flag, hint));
  }
  if (!extras.empty()) {
    return Error(fmt::format("unexpected argument \"{}\"", extras.front()));
  }
  return absl::OkStatus();
}

absl::Status FlagSet::TakeVariables() {
  App& app = *app_;
  const std::string& prefix = app.table.variable_prefix;
  std::map<std::string, Flag*> known;  // by name without the prefix
  for (Flag& flag : app.flags) known[UpperCase(KeyOf(flag))] = &flag;
  std::vector<std::string_view> names;
  for (const auto& [name, flag] : known) names.emplace_back(name);
  for (const auto& [name, value] : app.variables) {
    if (!name.starts_with(prefix)) continue;
    const auto found = known.find(name.substr(prefix.size()));
    if (found == known.end()) {
      // Other programs may set such variables, e.g. Kubernetes for its
      // Services; only a near miss is an error.
      const std::string near = NearestName(name.substr(prefix.size()), names);
      if (near.empty()) continue;
      return Error(fmt::format("unknown variable {}; did you mean {}{}?", name,
                               prefix, near));
    }
    Flag& flag = *found->second;
    if (!flag.source.empty()) continue;
    // Kubernetes sets this for a Service with this command's name.
    if (flag.entry.name == "--port" && value.starts_with("tcp://")) continue;
    const absl::Status status = flag.take(value);
    if (!status.ok()) {
      return Error(fmt::format("the variable {}: {}", name, ErrorText(status)));
    }
    flag.source = name;
  }
  return absl::OkStatus();
}

absl::Status FlagSet::TakeFile() {
  App& app = *app_;
  if (app.config_path.empty()) return absl::OkStatus();
  const std::string& path = app.config_path;
  const auto text = HostContext().read_file(path);
  if (!text.ok()) {
    return Error(fmt::format("--config: {}", ErrorText(text.status())));
  }
  const auto entries = ParseConfigText(*text);
  if (!entries.ok()) {
    return Error(fmt::format("{}: {}", path, ErrorText(entries.status())));
  }
  const std::vector<std::string> keys = app.Keys();
  for (const ConfigEntry& entry : *entries) {
    Flag* const flag = entry.key == "config" ? nullptr : app.Find(entry.key);
    if (flag == nullptr) {
      return Error(fmt::format(
          "{}: {}unknown option \"{}\"{}", path, entry.place, entry.key,
          DidYouMean(entry.key, {keys.begin(), keys.end()})));
    }
    if (!flag->source.empty()) continue;
    const absl::Status status = flag->take(entry.value);
    if (!status.ok()) {
      return Error(fmt::format("{}: {}{}: {}", path, entry.place, entry.key,
                               ErrorText(status)));
    }
    flag->source = path;
  }
  return absl::OkStatus();
}

// Prints one option per line, with its origin; an unset option is a comment.
std::string FlagSet::PrintedConfig() const {
  std::string text;
  for (const Flag& flag : app_->flags) {
    if (flag.entry.name == kConfig) continue;
    const std::string value = flag.show();
    const std::string line = value.empty()
                                 ? fmt::format("# {}:", KeyOf(flag))
                                 : fmt::format("{}: {}", KeyOf(flag), value);
    text += flag.source.empty() ? line + "\n"
                                : fmt::format("{}  # {}\n", line, flag.source);
  }
  return text;
}

bool FlagSet::Given(const std::string& name) const {
  for (const Flag& flag : app_->flags) {
    if (flag.entry.name == name) return !flag.source.empty();
  }
  const CLI::Option* const option = app_->cli.get_option_no_throw(name);
  FM_CHECK(option != nullptr);
  return option->count() > 0;
}

absl::Status FlagSet::Error(std::string_view message) const {
  return InvalidArgument("{}\nSee '{} --help' for its flags and examples.",
                         message, app_->name);
}

}  // namespace feedmill

#include "tools/command/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/nearest_name.h"

namespace feedmill {
namespace {

// What CLI11 catches and reports with the flag's name before it.
[[noreturn]] void Refuse(const std::string& name, const absl::Status& status) {
  throw CLI::ValidationError(name, ErrorText(status));
}

}  // namespace

absl::StatusOr<absl::Duration> ParsePositiveDuration(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) {
    return InvalidArgument(
        "'{}' is not a duration; write a number and a unit: 200ms, 20s, 5m, 1h",
        text);
  }
  if (duration <= absl::ZeroDuration()) {
    return InvalidArgument("'{}' must be longer than zero", text);
  }
  return duration;
}

absl::StatusOr<uint64_t> ParseBytes(const std::string& text) {
  const auto wrong = [&] {
    return InvalidArgument(
        "'{}' is not a size; write bytes or a number with KiB, MiB or GiB: "
        "256MiB",
        text);
  };
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return wrong();
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  int shift = 0;
  if (unit == "KiB") {
    shift = 10;
  } else if (unit == "MiB") {
    shift = 20;
  } else if (unit == "GiB") {
    shift = 30;
  } else if (!unit.empty() && unit != "B") {
    return wrong();
  }
  if (number == 0) return InvalidArgument("'{}' must be above zero", text);
  if (number > std::numeric_limits<uint64_t>::max() >> (shift + 1)) {
    return InvalidArgument("'{}' is more than any machine has", text);
  }
  return number << shift;
}

absl::StatusOr<uint64_t> ParseCount(const std::string& text, uint64_t min,
                                    uint64_t max) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && rest == end && number >= min && number <= max) {
    return number;
  }
  if (max == std::numeric_limits<uint64_t>::max()) {
    return InvalidArgument("'{}' is not a whole number of at least {}", text,
                           min);
  }
  return InvalidArgument("'{}' is not a whole number from {} to {}", text, min,
                         max);
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

struct FlagSet::App {
  explicit App(const std::string& command, const std::string& summary)
      : name("feedmill " + command), cli(summary, name) {}

  CLI::Option* Add(const std::string& flag, const std::string& type,
                   const std::string& shown_default, const std::string& help,
                   const std::function<void(const std::string&)>& take) {
    CLI::Option* const option =
        cli.add_option_function<std::string>(flag, take, help);
    option->type_name(type);
    if (!shown_default.empty()) option->default_str(shown_default);
    return option;
  }

  std::string name;
  CLI::App cli;
  std::vector<std::string> flags;
};

FlagSet::FlagSet(const std::string& command, const std::string& summary,
                 const std::string& examples)
    : app_(std::make_unique<App>(command, summary)) {
  app_->cli.set_help_flag("-h,--help", "Print this and exit");
  app_->cli.footer(examples);
  app_->cli.allow_extras();  // reported here, with the nearest known flag
  app_->cli.get_formatter()->column_width(34);
  app_->flags.push_back("--help");
}

FlagSet::~FlagSet() = default;

void FlagSet::Positional(const std::string& name, const std::string& help,
                         std::string* value) {
  app_->cli.add_option(name, *value, help)->type_name("");
}

void FlagSet::Bool(const std::string& name, const std::string& help,
                   bool* value) {
  app_->flags.push_back(name);
  app_->cli.add_flag_callback(
      name, [value] { *value = true; }, help);
}

void FlagSet::Text(const std::string& name, const std::string& type,
                   const std::string& help, std::string* value) {
  app_->flags.push_back(name);
  app_->Add(name, type, *value, help, [name, value](const std::string& text) {
    if (text.empty()) Refuse(name, InvalidArgument("the value is empty"));
    *value = text;
  });
}

void FlagSet::OneOf(const std::string& name,
                    const std::vector<std::string>& choices,
                    const std::string& help, std::string* value) {
  app_->flags.push_back(name);
  const std::string list = fmt::format("{}", fmt::join(choices, "|"));
  app_->Add(
      name, list, *value, help,
      [name, value, choices, list](const std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
          Refuse(name, InvalidArgument("'{}' is none of {}", text, list));
        }
        *value = text;
      });
}

void FlagSet::Count(const std::string& name, uint64_t min, uint64_t max,
                    const std::string& help, uint64_t* value) {
  app_->flags.push_back(name);
  const std::string shown =
      *value >= min && *value <= max ? fmt::format("{}", *value) : "";
  app_->Add(name, "N", shown, help,
            [name, min, max, value](const std::string& text) {
              absl::StatusOr<uint64_t> count = ParseCount(text, min, max);
              if (!count.ok()) Refuse(name, count.status());
              *value = *count;
            });
}

void FlagSet::Duration(const std::string& name, const std::string& help,
                       absl::Duration* value) {
  app_->flags.push_back(name);
  app_->Add(name, "DURATION", absl::FormatDuration(*value), help,
            [name, value](const std::string& text) {
              absl::StatusOr<absl::Duration> parsed =
                  ParsePositiveDuration(text);
              if (!parsed.ok()) Refuse(name, parsed.status());
              *value = *parsed;
            });
}

void FlagSet::Bytes(const std::string& name, const std::string& help,
                    uint64_t* value) {
  app_->flags.push_back(name);
  app_->Add(name, "SIZE", FormatBytes(*value), help,
            [name, value](const std::string& text) {
              absl::StatusOr<uint64_t> parsed = ParseBytes(text);
              if (!parsed.ok()) Refuse(name, parsed.status());
              *value = *parsed;
            });
}

absl::StatusOr<bool> FlagSet::Parse(const std::vector<std::string>& arguments) {
  // CLI11 takes the words from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app_->cli.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app_->cli.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    return Error(error.what());
  }
  const std::vector<std::string> extras = app_->cli.remaining();
  for (const std::string& word : extras) {
    if (word.empty() || word.front() != '-') continue;
    const std::string flag = word.substr(0, word.find('='));
    return Error(fmt::format(
        "unknown flag \"{}\"{}", flag,
        DidYouMean(flag, {app_->flags.begin(), app_->flags.end()})));
  }
  if (!extras.empty()) {
    return Error(fmt::format("unexpected argument \"{}\"", extras.front()));
  }
  return true;
}

bool FlagSet::Given(const std::string& name) const {
  const CLI::Option* const option = app_->cli.get_option_no_throw(name);
  FM_CHECK(option != nullptr);
  return option->count() > 0;
}

absl::Status FlagSet::Error(std::string_view message) const {
  return InvalidArgument("{}\nSee '{} --help' for its flags and examples.",
                         message, app_->name);
}

}  // namespace feedmill

#include "tools/command/exit_code.h"

#include <algorithm>
#include <utility>

#include "core/base/printable_text.h"
#include "core/base/url_secrets.h"

namespace feedmill {
namespace {

// Options of readers as messages of the libraries name them, and as flags.
constexpr std::pair<std::string_view, std::string_view> kFlagNames[] = {
    {"`job`", "--job"},
    {"`rank`", "--consumer c/C"},
    {"`take_over`", "--take-over"},
    {"`threads`", "--threads"},
};

std::string WithFlagNames(std::string_view message) {
  std::string text(message);
  for (const auto& [option, flag] : kFlagNames) {
    for (size_t at = text.find(option); at != std::string::npos;
         at = text.find(option, at + flag.size())) {
      text.replace(at, option.size(), flag);
    }
  }
  return text;
}

}  // namespace

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitSuccess;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return kExitUsage;
    default:
      return kExitFailure;
  }
}

std::string StderrText(std::string_view message) {
  constexpr int kLinesMax = 5;
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  const std::string shown = HideUrlSecrets(WithFlagNames(message));
  std::string_view rest = shown;
  std::string text = "feedmill: ";
  for (int lines = 0; lines < kLinesMax && !rest.empty(); ++lines) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    text += PrintableText(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

}  // namespace feedmill

#include "tools/command/exit_code.h"

namespace feedmill {

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
  std::string text = "feedmill: ";
  int lines = 1;
  for (const char c : message) {
    if (c == '\n') {
      if (lines == kLinesMax) break;
      ++lines;
      text += c;
    } else {
      // Messages include file names and records, which must not control a
      // terminal.
      const auto byte = static_cast<unsigned char>(c);
      text += byte < 0x20 || byte == 0x7f ? '?' : c;
    }
  }
  text += '\n';
  return text;
}

}  // namespace feedmill

#ifndef FEEDMILL_TOOLS_COMMAND_EXIT_CODE_H_
#define FEEDMILL_TOOLS_COMMAND_EXIT_CODE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;  // 128 + SIGINT
inline constexpr int kExitTerminated = 143;   // 128 + SIGTERM

// The exit status that follows from the code of an error; the table is in
// core/base/status.h.
int ExitCodeOf(const absl::Status& status);

// `message` as it goes to stderr: "feedmill: " before the first line, five
// lines at most, no control characters, a newline at the end.
std::string StderrText(std::string_view message);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_EXIT_CODE_H_

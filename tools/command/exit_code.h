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

// Returns the exit status for the code of an error; core/base/status.h has the
// table.
int ExitCodeOf(const absl::Status& status);

// Formats `message` for stderr: "feedmill: " before the first line, at most
// five lines, no control characters, no secrets of URLs, a final newline.
// Options that the libraries name, such as `take_over`, become flags.
std::string StderrText(std::string_view message);

// If the process is refused memory, threads or file space, ends it with exit
// status 1 and a line that names the limit. Handles:
//   - exceptions that no function handles (e.g. std::bad_alloc of a server's
//     thread)
//   - libraries that call abort() or exit() for this reason (libzmq, libgomp)
//   - files that reach the size limit (ulimit -f): SIGXFSZ is ignored, so that
//     writes fail with EFBIG, which the writer reports
// An abort for another reason still aborts.
//
// Call first in main. Only a command may set a process's handlers; the library
// does not change its program's handlers.
void ExplainResourceErrors();

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_EXIT_CODE_H_

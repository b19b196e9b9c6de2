#ifndef FEEDMILL_TOOLS_COMMAND_CHILD_PROCESS_H_
#define FEEDMILL_TOOLS_COMMAND_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// Starts this very program again with these arguments, in a process group of
// its own (a terminal's Ctrl-C reaches the parent only), with no signal
// blocked, and ended by the kernel if the parent dies. `inherited`: a
// descriptor that it shall have, under the same number.
//
// REQUIRES: the calling process has one thread. Unavailable if there can be
// no more processes.
absl::StatusOr<pid_t> StartSelf(const std::vector<std::string>& arguments,
                                std::optional<int> inherited = std::nullopt);

// How a child ended.
struct ChildExit {
  pid_t pid = 0;
  int code = 0;    // its exit status, if no signal killed it
  int signal = 0;  // the signal that killed it, or 0
};
// "exited with status 1", "was killed by signal 9 (Killed)".
std::string Describe(const ChildExit& exit);
// A child that has ended and was not reported yet; never waits.
std::optional<ChildExit> ReapChild();

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_CHILD_PROCESS_H_

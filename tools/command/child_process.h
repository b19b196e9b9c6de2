#ifndef FEEDMILL_TOOLS_COMMAND_CHILD_PROCESS_H_
#define FEEDMILL_TOOLS_COMMAND_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// Starts this program again with these arguments. The child has its own process
// group, so that a terminal's Ctrl-C reaches only the parent. It has no blocked
// signals, and the kernel ends it if the parent dies. `inherited`: descriptors
// that the child gets under the same numbers.
//
// REQUIRES: the calling process has one thread. Unavailable if no process can
// be started.
absl::StatusOr<pid_t> StartSelf(const std::vector<std::string>& arguments,
                                const std::vector<int>& inherited = {});

// The end of a child.
struct ChildExit {
  pid_t pid = 0;
  int code = 0;    // its exit status, if no signal killed it
  int signal = 0;  // the signal that killed it, or 0
};
// `status`: as of waitpid.
ChildExit ExitOf(pid_t pid, int status);
// "exited with status 1", "was killed by signal 9 (Killed)".
std::string Describe(const ChildExit& exit);
// Returns a child that has ended and was not returned before; never waits.
std::optional<ChildExit> ReapChild();

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_CHILD_PROCESS_H_

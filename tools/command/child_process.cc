#include "tools/command/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/base/status.h"
#include "core/process/thread_limit.h"

namespace feedmill {
namespace {

// The path of this program. Its own name shows in ps, so it is preferred. If it
// was replaced by an upgrade, only the kernel's link leads to the running
// program.
std::string SelfPath() {
  constexpr char kLink[] = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::read_symlink(kLink, error);
  if (error || !std::filesystem::exists(path, error)) return kLink;
  return path.string();
}

}  // namespace

absl::StatusOr<pid_t> StartSelf(const std::vector<std::string>& arguments,
                                const std::vector<int>& inherited) {
  const std::string path = SelfPath();
  std::string name = "feedmill";
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return ResourceExhausted(
        "cannot start another process: {} ({}); raise the limit, or stop other "
        "processes",
        std::strerror(errno), ThreadLimitsText());
  }
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // the parent died before prctl
  setpgid(0, 0);
  for (const int each : inherited) fcntl(each, F_SETFD, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(path.c_str(), argv.data());
  _exit(127);
}

ChildExit ExitOf(pid_t pid, int status) {
  if (WIFSIGNALED(status)) return {pid, 0, WTERMSIG(status)};
  return {pid, WEXITSTATUS(status), 0};
}

std::string Describe(const ChildExit& exit) {
  if (exit.signal != 0) {
    return fmt::format("was killed by signal {} ({})", exit.signal,
                       strsignal(exit.signal));
  }
  return fmt::format("exited with status {}", exit.code);
}

std::optional<ChildExit> ReapChild() {
  int status = 0;
  const pid_t pid = waitpid(-1, &status, WNOHANG);
  if (pid <= 0) return std::nullopt;
  return ExitOf(pid, status);
}

}  // namespace feedmill

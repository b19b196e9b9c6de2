#include "tools/command/exit_code.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "core/base/printable_text.h"
#include "core/base/url_secrets.h"
#include "core/pipeline/executor.h"

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

namespace {

// Everything here runs when memory is exhausted: it allocates nothing and
// writes to stderr directly.

constexpr size_t kStackBytes = size_t{256} << 10;
// If less is free, a thread cannot be started for lack of memory.
constexpr size_t kProbeBytes = size_t{16} << 20;

std::atomic<bool> g_memory_refused = false;

void Say(const char* text) {
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, text, std::strlen(text));
}

// Formats the limit for ulimit; "unlimited" if there is none.
const char* LimitText(int resource, rlim_t unit, char* text, size_t size) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return "unlimited";
  }
  std::snprintf(text, size, "%llu",
                static_cast<unsigned long long>(limit.rlim_cur / unit));
  return text;
}

void SayMemory() {
  char number[32];
  char line[256];
  std::snprintf(line, sizeof line,
                "feedmill: out of memory: raise the limit of the process "
                "(ulimit -v, now %s, or its container's), or use fewer "
                "threads\n",
                LimitText(RLIMIT_AS, 1024, number, sizeof number));
  Say(line);
}

void SayThreads() {
  char users[32];
  char space[32];
  char line[320];
  std::snprintf(line, sizeof line,
                "feedmill: no more threads can be started: raise the limit of "
                "this user (ulimit -u, now %s), of the process (ulimit -v, now "
                "%s) or of its container, or use fewer threads\n",
                LimitText(RLIMIT_NPROC, 1, users, sizeof users),
                LimitText(RLIMIT_AS, 1024, space, sizeof space));
  Say(line);
}

bool MemoryIsShort() {
  if (g_memory_refused.load()) return true;
  void* const probe = mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return true;
  munmap(probe, kProbeBytes);
  return false;
}

bool ThreadsAreShort() {
  const long child = syscall(SYS_fork);
  if (child == 0) _exit(0);
  if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child < 0 && errno == EAGAIN;
}

// Handler of operator new. Runs also if the caller handles the failure.
void OnNoMemory() {
  g_memory_refused.store(true);
  throw std::bad_alloc();
}

[[noreturn]] void OnTerminate() {
  try {
    const std::exception_ptr error = std::current_exception();
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    SayMemory();
    _exit(kExitFailure);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      MemoryIsShort() ? SayMemory() : SayThreads();
      _exit(kExitFailure);
    }
    Say("feedmill: ");
    Say(error.what());
    Say("\n");
    _exit(kExitFailure);
  } catch (const std::exception& error) {
    // libzmq's exceptions have only the text of an errno.
    if (std::strcmp(error.what(), std::strerror(ENOMEM)) == 0) {
      SayMemory();
      _exit(kExitFailure);
    }
    Say("feedmill: an exception that was not expected: ");
    Say(error.what());
    Say("\n");
  } catch (...) {
  }
  // If a constructor throws, a running thread may be destroyed, which
  // terminates. Only resource exceptions of the standard library get here.
  if (std::uncaught_exceptions() > 0) {
    MemoryIsShort() ? SayMemory() : SayThreads();
    _exit(kExitFailure);
  }
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

// Handles abort() of a library: libzmq aborts without memory or threads, with a
// message of its own only.
void OnAbort(int) {
  if (MemoryIsShort()) {
    SayMemory();
    _exit(kExitFailure);
  }
  if (ThreadsAreShort()) {
    SayThreads();
    _exit(kExitFailure);
  }
  // Returns to abort(), which ends the process by the signal.
  std::signal(SIGABRT, SIG_DFL);
}

// Handles exit() of libgomp, which exits if it cannot start a thread.
void OnExit() {
  if (!Executor::Starting()) return;
  MemoryIsShort() ? SayMemory() : SayThreads();
  _exit(kExitFailure);
}

// Touches the stack of the main thread, which otherwise grows on use, when
// there may be no memory. (Stacks of other threads are allocated at the start.)
void TakeStack() {
  volatile char stack[kStackBytes];
  for (size_t at = 0; at < sizeof stack; at += 1024) stack[at] = 0;
}

}  // namespace

void ExplainResourceErrors() {
  TakeStack();
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(OnNoMemory);
  std::set_terminate(OnTerminate);
  std::signal(SIGABRT, OnAbort);
  static const int registered = std::atexit(OnExit);
  static_cast<void>(registered);
}

}  // namespace feedmill

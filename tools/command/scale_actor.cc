#include "tools/command/scale_actor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/io/folder_file.h"
#include "core/net/log.h"
#include "core/process/spawn.h"
#include "tools/command/child_process.h"

namespace feedmill {
namespace {

constexpr std::string_view kPlaceholder = "{workers}";
constexpr std::string_view kScaleDescriptors = "/dev/fd/";
constexpr absl::Duration kCommandPoll = absl::Milliseconds(20);
constexpr absl::Duration kTermGrace = absl::Seconds(1);
// After a command that failed, doubled each time.
constexpr absl::Duration kFirstRetry = absl::Seconds(2);
constexpr absl::Duration kLastRetry = absl::Minutes(1);

std::string WithWorkers(std::string command, uint64_t workers) {
  const std::string number = fmt::format("{}", workers);
  for (size_t at = command.find(kPlaceholder); at != command.npos;
       at = command.find(kPlaceholder, at + number.size())) {
    command.replace(at, kPlaceholder.size(), number);
  }
  return command;
}

// The environment of this process, and the number.
std::vector<std::string> EnvironmentFor(uint64_t workers) {
  constexpr std::string_view kVariable = "FEEDMILL_WORKERS_WANTED=";
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with(kVariable)) {
      variables.emplace_back(*each);
    }
  }
  variables.push_back(fmt::format("{}{}", kVariable, workers));
  return variables;
}

// Starts it in a process group of its own. What it prints goes to the log.
absl::StatusOr<pid_t> StartShell(const std::string& command, uint64_t workers) {
  pid_t pid = 0;
  const int error = Spawn({"/bin/sh",
                           {"sh", "-c", WithWorkers(command, workers)},
                           EnvironmentFor(workers),
                           {-1, STDERR_FILENO, STDERR_FILENO}},
                          pid);
  if (error == 0) return pid;
  return Unavailable("cannot start /bin/sh: {}", std::strerror(error));
}

// Returns the end of the child; nullopt while it runs.
std::optional<ChildExit> Ended(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return ExitOf(pid, status);
}

void KillGroup(pid_t pid) {
  kill(-pid, SIGTERM);
  const absl::Time deadline = absl::Now() + kTermGrace;
  while (absl::Now() < deadline) {
    if (Ended(pid).has_value()) {
      kill(-pid, SIGKILL);  // processes that the command has started
      return;
    }
    absl::SleepFor(kCommandPoll);
  }
  kill(-pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace

absl::Status RunScaleCommand(const std::string& command, uint64_t workers,
                             absl::Duration timeout,
                             const std::function<bool()>& stopped) {
  FM_ASSIGN_OR_RETURN(const pid_t pid, StartShell(command, workers));
  const absl::Time deadline = absl::Now() + timeout;
  while (true) {
    if (const auto exit = Ended(pid)) {
      if (exit->signal == 0 && exit->code == 0) return absl::OkStatus();
      return Unavailable("it {}", Describe(*exit));
    }
    if (stopped()) {
      KillGroup(pid);
      return absl::CancelledError("the dispatcher stops");
    }
    if (absl::Now() >= deadline) {
      KillGroup(pid);
      return DeadlineExceeded(
          "it took longer than {} (--scale-command-timeout) and was killed",
          absl::FormatDuration(timeout));
    }
    absl::SleepFor(kCommandPoll);
  }
}

void DeclareScalePace(FlagSet& flags, ScaleSettings& settings) {
  flags.Duration("--scale-interval",
                 "Shortest time between two decisions about the number of "
                 "workers, and the time that each measures",
                 &settings.interval);
  flags.Duration("--scale-down-after",
                 "Time for which fewer workers must suffice before fewer are "
                 "wanted",
                 &settings.down_after);
}

void ScaleFlags::Declare(FlagSet& flags, ScaleSettings& settings) {
  flags.Range("--scale", 0, 1'000'000,
              "Bounds of the number of workers that the dispatcher wants "
              "(metric feedmill_workers_wanted)",
              &least, &most);
  DeclareScalePace(flags, settings);
  flags.Duration("--scale-start-time",
                 "Time that wanted workers have to come; then the number is "
                 "computed again with the workers that are there",
                 &settings.start_time);
  flags.Text("--scale-command", "COMMAND",
             "Shell command to run when another number of workers is wanted; "
             "{workers} in it is the number",
             &command);
  flags.Duration("--scale-command-timeout",
                 "Time after which that command is killed and run again",
                 &command_timeout);
  flags.Text("--scale-file", "FILE",
             "File to replace when another number of workers is wanted; it "
             "holds the number",
             &file);
  flags.Bool("--scale-dry-run",
             "Log the command in place of running it, and write no file",
             &dry_run);
}

void ScaleFlags::Set(ScaleSettings& settings) const {
  settings.workers_min = static_cast<uint32_t>(least);
  settings.workers_max = static_cast<uint32_t>(std::max<uint64_t>(1, most));
}

class ScaleActor::Shell {
 public:
  explicit Shell(const ScaleFlags& flags) : flags_(flags) {}
  ~Shell() {
    {
      const std::lock_guard lock(mu_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (descriptor_ >= 0) close(descriptor_);
  }

  absl::Status Start() {
    if (flags_.file.starts_with(kScaleDescriptors)) {
      descriptor_ = std::atoi(flags_.file.c_str() + kScaleDescriptors.size());
      if (descriptor_ <= STDERR_FILENO) {
        return InvalidArgument("--scale-file {}: name a descriptor above 2",
                               flags_.file);
      }
      fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
    }
    if (flags_.file.empty() && flags_.command.empty()) return absl::OkStatus();
    thread_ = std::thread([this] { Loop(); });
    return absl::OkStatus();
  }

  void Want(uint64_t workers) {
    {
      const std::lock_guard lock(mu_);
      wanted_ = workers;
    }
    changed_.notify_all();
  }

 private:
  void Loop() {
    absl::Duration retry = kFirstRetry;
    std::optional<uint64_t> last;
    while (const std::optional<uint64_t> wanted = Next()) {
      if (wanted != last) retry = kFirstRetry;
      last = wanted;
      const absl::Status done = Act(*wanted);
      if (done.ok() || absl::IsCancelled(done)) continue;
      LogWarning(
          "could not bring the number of workers to {}: {}; trying "
          "again in {}",
          *wanted, ErrorText(done), absl::FormatDuration(retry));
      std::unique_lock lock(mu_);
      changed_.wait_for(lock, absl::ToChronoNanoseconds(retry),
                        [this] { return stopped_ || wanted_.has_value(); });
      if (!wanted_.has_value()) wanted_ = wanted;
      retry = std::min(2 * retry, kLastRetry);
    }
  }

  // Waits for another number; nullopt: stopped.
  std::optional<uint64_t> Next() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return stopped_ || wanted_.has_value(); });
    if (stopped_) return std::nullopt;
    return std::exchange(wanted_, std::nullopt);
  }

  absl::Status Act(uint64_t workers) {
    const std::string shown = WithWorkers(flags_.command, workers);
    if (flags_.dry_run) {
      LogInfo("dry run: {} workers are wanted; would run '{}'", workers, shown);
      return absl::OkStatus();
    }
    FM_RETURN_IF_ERROR(WriteNumber(workers));
    if (flags_.command.empty()) return absl::OkStatus();
    const absl::Status done = RunScaleCommand(flags_.command, workers,
                                              flags_.command_timeout, [this] {
                                                const std::lock_guard lock(mu_);
                                                return stopped_;
                                              });
    if (done.ok()) LogInfo("'{}' succeeded", shown);
    if (done.ok() || absl::IsCancelled(done)) return done;
    return absl::Status(done.code(), fmt::format("--scale-command '{}': {}",
                                                 shown, ErrorText(done)));
  }

  absl::Status WriteNumber(uint64_t workers) const {
    if (flags_.file.empty()) return absl::OkStatus();
    const std::string line = fmt::format("{}\n", workers);
    if (descriptor_ < 0) return ReplaceFile(flags_.file, line);
    // A pipe takes a line this short whole or not at all.
    if (write(descriptor_, line.data(), line.size()) ==
        static_cast<ssize_t>(line.size())) {
      return absl::OkStatus();
    }
    return Unavailable("--scale-file {}: {}", flags_.file,
                       std::strerror(errno));
  }

  const ScaleFlags flags_;
  int descriptor_ = -1;
  std::mutex mu_;
  std::condition_variable changed_;
  std::optional<uint64_t> wanted_;  // guarded by mu_, as is the next
  bool stopped_ = false;
  std::thread thread_;
};

ScaleActor::ScaleActor(const ScaleFlags& flags)
    : shell_(std::make_unique<Shell>(flags)) {}
ScaleActor::~ScaleActor() = default;
absl::Status ScaleActor::Start() { return shell_->Start(); }
void ScaleActor::Want(uint64_t workers) { shell_->Want(workers); }

}  // namespace feedmill

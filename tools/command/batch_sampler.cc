#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/process/owned_fd.h"
#include "core/process/spawn.h"
#include "tools/command/batch_sample.h"

namespace feedmill {
namespace {

// For the time of a sample, a thread of the HTTP server is not free.
constexpr absl::Duration kSampleTime = absl::Seconds(8);
constexpr absl::Duration kSamplePoll = absl::Milliseconds(10);
constexpr size_t kSampleBytesMax = size_t{8} << 20;

// A file in memory.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("feedmill-sample", MFD_CLOEXEC)) {}

  int fd() const { return fd_.get(); }
  bool Write(const std::string& text) const {
    return write(fd(), text.data(), text.size()) ==
               static_cast<ssize_t>(text.size()) &&
           lseek(fd(), 0, SEEK_SET) == 0;
  }
  std::string Read() const {
    std::string text(kSampleBytesMax, '\0');
    const ssize_t got = pread(fd(), text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }

 private:
  const OwnedFd fd_;
};

// The graph with the run's seed, as `feedmill read` takes it.
std::string PipelineOf(const ExportedRun& run) {
  nlohmann::ordered_json graph =
      nlohmann::ordered_json::parse(run.graph, nullptr, false);
  if (graph.is_object()) graph["options"]["seed"] = run.seed;
  return graph.dump();
}

absl::StatusOr<pid_t> Start(std::vector<std::string> words,
                            const MemoryFile& in, const MemoryFile& out,
                            const MemoryFile& errors) {
  pid_t pid = 0;
  const int error = Spawn({.path = "/proc/self/exe",
                           .words = std::move(words),
                           .variables = {},
                           .fds = {in.fd(), out.fd(), errors.fd()},
                           .own_group = false},
                          pid);
  if (error == 0) return pid;
  return Unavailable("cannot start a process: {}", std::strerror(error));
}

// Returns the exit status; nullopt if a signal ended the process, or if it was
// killed because it took too long.
absl::StatusOr<int> AwaitExit(pid_t pid) {
  const absl::Time until = SteadyNow() + kSampleTime;
  bool late = false;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, late ? 0 : WNOHANG);
    if (ended == pid && late) {
      return DeadlineExceeded("making the batch took more than {}",
                              absl::FormatDuration(kSampleTime));
    }
    if (ended == pid && WIFEXITED(status)) return WEXITSTATUS(status);
    if (ended == pid) {
      return DataLoss("signal {} killed the process that made the batch",
                      WTERMSIG(status));
    }
    if (ended < 0 && errno != EINTR) {
      return Internal("waiting for a process: {}", std::strerror(errno));
    }
    if (SteadyNow() >= until && !late) {
      late = true;
      kill(pid, SIGKILL);
      continue;
    }
    absl::SleepFor(kSamplePoll);
  }
}

}  // namespace

absl::StatusOr<std::string> SampleBatch(const ExportedRun& run, uint64_t batch,
                                        const std::string& op_plugins) {
  static std::mutex one_at_a_time;
  const std::unique_lock lock(one_at_a_time, std::try_to_lock);
  if (!lock.owns_lock()) {
    return FailedPrecondition("another batch is being made; try again");
  }
  const MemoryFile in;
  const MemoryFile out;
  const MemoryFile errors;
  if (!in.Write(PipelineOf(run)) || out.fd() < 0 || errors.fd() < 0) {
    return Unavailable("no memory for a file: {}", std::strerror(errno));
  }
  std::vector<std::string> words{"feedmill",     "read",
                                 kExportedGraph, "--local",
                                 "--format",     "summary",
                                 "--show-batch", std::to_string(batch),
                                 "--epoch",      std::to_string(run.epoch)};
  if (!op_plugins.empty()) {
    words.insert(words.end(), {"--op-plugin", op_plugins});
  }
  FM_ASSIGN_OR_RETURN(const pid_t pid,
                      Start(std::move(words), in, out, errors));
  FM_ASSIGN_OR_RETURN(const int status, AwaitExit(pid));
  if (status == 0) return out.Read();
  std::string why = errors.Read();
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return InvalidArgument("{}",
                         why.empty() ? fmt::format("status {}", status) : why);
}

}  // namespace feedmill

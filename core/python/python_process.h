#ifndef FEEDMILL_CORE_PYTHON_PYTHON_PROCESS_H_
#define FEEDMILL_CORE_PYTHON_PYTHON_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/process/owned_fd.h"

// Processes of feedmill_process. Private to core/python.

namespace feedmill {

class RequestLayout;

// Anonymous memory that is shared with a process. It can grow, and no process
// can shrink it, so that no access fails.
class SharedMemory {
 public:
  // Makes a page of memory.
  static absl::StatusOr<SharedMemory> Make(const char* name);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  int fd() const { return fd_.get(); }
  // Grows it to at least `bytes`, and maps it. REQUIRES: the other process does
  // not grow it.
  absl::Status Grow(size_t bytes);
  // Maps what the other process made of it.
  absl::Status MapAll();
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  explicit SharedMemory(OwnedFd fd) : fd_(std::move(fd)) {}
  absl::Status Map(size_t bytes);

  OwnedFd fd_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Returns "by signal SIGKILL (Killed)" or "with status 1", for a status of
// waitpid.
std::string EndText(int status);

// The way in which a process ended.
struct ProcessEnd {
  int status = 0;     // as of waitpid
  std::string trace;  // where the function was; "" if unknown
};

// The process that has loaded a function and forks the processes that call it.
// The destructor ends it, its forks, and all processes that the function
// started.
//
// Thread-safety: any thread.
class PythonZygote {
 public:
  struct Options {
    std::string interpreter;
    std::string modules;  // PYTHONPATH; "": as of this process
    std::string setup;    // JSON for feedmill_process
    std::string pickled;
    absl::Duration timeout = absl::Minutes(2);  // for loading the function
  };

  // Starts it and waits until the function is loaded. The process ends with the
  // calling thread, which must live as long as the zygote. A process that a
  // signal ends before is started again, kStartsMax times in all.
  // FailedPrecondition if the function cannot be loaded.
  static absl::StatusOr<std::shared_ptr<PythonZygote>> Start(
      const Options& options);
  // Starts a process that says its versions and ends; returns what it says, as
  // JSON. Options::pickled is not used.
  static absl::StatusOr<std::string> Describe(const Options& options);
  ~PythonZygote();
  PythonZygote(const PythonZygote&) = delete;
  PythonZygote& operator=(const PythonZygote&) = delete;

  // Forks a process, which gets these descriptors. Returns its process id.
  absl::StatusOr<pid_t> Fork(int link, int input, int output);
  // Ends a fork. If it `hangs`, it first reports where it is.
  absl::StatusOr<ProcessEnd> End(pid_t pid, bool hangs);

 private:
  using Zygote = std::shared_ptr<PythonZygote>;

  PythonZygote(pid_t pid, OwnedFd control);
  static absl::StatusOr<Zygote> StartProcess(const Options& options);
  // Returns use(process) for a new process, again while a signal ends it.
  template <class Use>
  static auto UnlessKilled(const Options& options, const Use& use)
      -> decltype(use(std::declval<Zygote>()));
  // Waits until the function is loaded. Unavailable if a signal ended the
  // process.
  absl::Status AwaitLoaded(const Options& options);
  // Returns what Describe returns. Unavailable if a signal ended the process.
  absl::StatusOr<std::string> ReceiveVersions(const Options& options) const;
  // Waits for the end of the process, and returns its status; nullopt if it is
  // unknown, or the process lives on for `timeout`.
  std::optional<int> AwaitEnd(absl::Duration timeout) const;
  // Sends a message and returns the answer. Unavailable if the zygote has ended
  // or does not answer; then also from then on, because a late answer would be
  // taken for the answer to the next message.
  absl::StatusOr<std::string> Exchange(std::string_view message,
                                       std::span<const int> fds);

  const pid_t pid_;
  bool loaded_ = false;  // it ends its descendants when the socket is closed
  std::mutex mu_;        // one exchange at a time
  OwnedFd control_;      // guarded by mu_
  bool broken_ = false;  // guarded by mu_: an answer did not come
};

// A process that makes elements, one request after another. One thread at a
// time.
class PythonProcess {
 public:
  // The result of a call.
  struct Outcome {
    enum class Kind { kMade, kFailed, kEnded, kHung, kStopped };
    Kind kind = Kind::kMade;
    size_t row = 0;  // that failed, or that it was making
    // True if it was at the state of a generator: no element is at fault.
    bool at_state = false;
    std::string text;  // why it failed, or of Send's result
  };

  static absl::StatusOr<std::unique_ptr<PythonProcess>> Fork(
      std::shared_ptr<PythonZygote> zygote);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  // Computes a request. No row may take longer than `timeout`. After kEnded,
  // kHung, kStopped and errors the process is of no more use.
  absl::StatusOr<Outcome> Call(const RequestLayout& request,
                               absl::Duration timeout);
  // Sends a message and waits for the result, with its text. The same errors.
  absl::StatusOr<Outcome> Send(const std::string& message,
                               absl::Duration timeout);
  // True if the process lives and waits for a request. REQUIRES: no call runs.
  bool Waits() const;
  // The columns of the last result.
  std::span<const std::byte> result() const { return output_.bytes(); }
  // Ends the process, and says how it ended.
  absl::StatusOr<ProcessEnd> End(bool hangs);

 private:
  PythonProcess(std::shared_ptr<PythonZygote> zygote, pid_t pid, OwnedFd link,
                SharedMemory input, SharedMemory output);
  int64_t RowBeingMade() const;
  absl::StatusOr<Outcome> Await(absl::Duration timeout);

  const std::shared_ptr<PythonZygote> zygote_;
  const pid_t pid_;
  const OwnedFd link_;
  SharedMemory input_;
  SharedMemory output_;
  bool ended_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PYTHON_PYTHON_PROCESS_H_

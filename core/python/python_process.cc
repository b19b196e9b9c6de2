#include "core/python/python_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/read_stop.h"
#include "core/process/spawn.h"
#include "core/process/thread_limit.h"
#include "core/process/write_error.h"
#include "core/python/column_layout.h"
#include "feedmill_process.h"

namespace feedmill {
namespace {

constexpr size_t kMemoryBytesMin = 4096;
// Interval of checks whether the reading ends.
constexpr absl::Duration kStopInterval = absl::Milliseconds(20);
constexpr absl::Duration kExchangeTimeout = absl::Seconds(20);
constexpr absl::Duration kEndTimeout = absl::Seconds(2);
constexpr absl::Duration kEndInterval = absl::Milliseconds(1);
constexpr int kStartsMax = 3;
// Instead of a row, if the process is at the state of a generator: STATE_ROW of
// generator_state.py.
constexpr int64_t kStateRow = -2;
constexpr char kBootstrap[] =
    "import os; exec(compile(os.fdopen(4, 'rb').read(), "
    "'<feedmill_process>', 'exec'))";

using Clock = std::chrono::steady_clock;

// Waits until `fd` can be read. False after `timeout`; Cancelled if the reading
// of this thread ends.
absl::StatusOr<bool> AwaitReadable(int fd, absl::Duration timeout) {
  const auto begin = Clock::now();
  for (;;) {
    const absl::Duration left =
        timeout - absl::FromChrono(Clock::now() - begin);
    if (left <= absl::ZeroDuration()) return false;
    const absl::Duration wait =
        std::min({left + absl::Milliseconds(1), kStopInterval});
    pollfd one{fd, POLLIN, 0};
    const int ready =
        poll(&one, 1, static_cast<int>(absl::ToInt64Milliseconds(wait)));
    if (ready > 0) return true;
    if (ReadStop::Asked()) return Cancelled("the reading was ended");
  }
}

// Receives a message; "" if the other side has closed the socket.
std::string Receive(int fd) {
  const auto receive = [fd](void* data, size_t size, int flags) {
    ssize_t got = 0;
    do {
      got = recv(fd, data, size, flags);
    } while (got < 0 && errno == EINTR);
    return static_cast<size_t>(std::max<ssize_t>(got, 0));
  };
  // Most answers are short, and each call of a function has one.
  std::string message(receive(nullptr, 0, MSG_PEEK | MSG_TRUNC), '\0');
  message.resize(receive(message.data(), message.size(), 0));
  return message;
}

bool Send(int fd, const void* data, size_t size, std::span<const int> fds) {
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = room.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

absl::StatusOr<std::pair<OwnedFd, OwnedFd>> MakeLink() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ResourceExhausted("no socket for a Python process: {}",
                             std::strerror(errno));
  }
  return std::make_pair(OwnedFd(ends[0]), OwnedFd(ends[1]));
}

// Makes a file with these parts that reads from its begin.
absl::StatusOr<OwnedFd> MakeFile(
    std::initializer_list<std::string_view> parts) {
  OwnedFd fd(memfd_create("feedmill_python", MFD_CLOEXEC));
  off_t at = 0;
  for (std::string_view part : parts) {
    while (fd.valid() && !part.empty()) {
      const ssize_t wrote = pwrite(fd.get(), part.data(), part.size(), at);
      if (wrote <= 0) {
        return ResourceExhausted("no memory for a Python function: {}",
                                 std::strerror(errno));
      }
      at += wrote;
      part.remove_prefix(static_cast<size_t>(wrote));
    }
  }
  if (fd.valid()) return fd;
  return ResourceExhausted("no memory for a Python function: {}",
                           std::strerror(errno));
}

// Libraries of the function must start no threads before it forks.
std::vector<std::string> Environment(const std::string& modules) {
  std::vector<std::string> variables;
  const auto has = [&variables](std::string_view name) {
    return std::any_of(
        variables.begin(), variables.end(), [name](const std::string& one) {
          return one.starts_with(name) && one[name.size()] == '=';
        });
  };
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view variable = *one;
    if (modules.empty() || !variable.starts_with("PYTHONPATH=")) {
      variables.emplace_back(variable);
    }
  }
  if (!modules.empty()) variables.push_back("PYTHONPATH=" + modules);
  for (const char* name :
       {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (!has(name)) variables.push_back(std::string(name) + "=1");
  }
  return variables;
}

// Starts the interpreter in a process group of its own, with `fds` as
// descriptors 3, 4, …
absl::StatusOr<pid_t> StartInterpreter(const std::string& interpreter,
                                       const std::string& modules,
                                       std::initializer_list<int> fds) {
  SpawnOptions program{interpreter,
                       {interpreter, "-c", kBootstrap},
                       Environment(modules),
                       {-1, STDERR_FILENO, STDERR_FILENO}};
  program.fds.insert(program.fds.end(), fds);
  pid_t pid = 0;
  const int error = Spawn(std::move(program), pid);
  if (error == EMFILE || error == ENFILE) {
    return ResourceExhausted("no descriptor for a Python process: {}",
                             std::strerror(error));
  }
  if (error == EAGAIN || error == ENOMEM) {
    return ResourceExhausted("cannot start {}: {}", interpreter,
                             ThreadLimitsText());
  }
  if (error != 0) {
    return FailedPrecondition("cannot start the interpreter {}: {}",
                              interpreter, std::strerror(error));
  }
  return pid;
}

}  // namespace

std::string EndText(int status) {
  if (!WIFSIGNALED(status)) {
    return fmt::format("with status {}", WEXITSTATUS(status));
  }
  const int number = WTERMSIG(status);
  const char* const name = sigabbrev_np(number);
  return fmt::format("by signal {}{} ({})", name == nullptr ? "" : "SIG",
                     name == nullptr ? std::to_string(number) : name,
                     strsignal(number));
}

// ---- shared memory

absl::StatusOr<SharedMemory> SharedMemory::Make(const char* name) {
  OwnedFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return ResourceExhausted("no shared memory for a Python process: {}",
                             std::strerror(errno));
  }
  SharedMemory memory(std::move(fd));
  FM_RETURN_IF_ERROR(memory.Grow(kMemoryBytesMin));
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::Status SharedMemory::Grow(size_t bytes) {
  if (bytes <= size_) return absl::OkStatus();
  const size_t wanted = std::max(bytes, 2 * size_);
  // Above RLIMIT_FSIZE, ftruncate would raise SIGXFSZ.
  if (!MayWriteFile(wanted) ||
      ftruncate(fd_.get(), static_cast<off_t>(wanted)) != 0) {
    return ResourceExhausted(
        "no shared memory of {} bytes for a Python process: {}", wanted,
        std::strerror(errno));
  }
  return Map(wanted);
}

absl::Status SharedMemory::MapAll() {
  struct stat file {};
  if (fstat(fd_.get(), &file) != 0) return Internal("no shared memory");
  const auto size = static_cast<size_t>(file.st_size);
  return size <= size_ ? absl::OkStatus() : Map(size);
}

absl::Status SharedMemory::Map(size_t bytes) {
  void* const at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) {
    return ResourceExhausted("cannot map {} bytes of a Python process: {}",
                             bytes, std::strerror(errno));
  }
  if (data_ != nullptr) munmap(data_, size_);
  data_ = static_cast<std::byte*>(at);
  size_ = bytes;
  return absl::OkStatus();
}

// ---- the zygote

PythonZygote::PythonZygote(pid_t pid, OwnedFd control)
    : pid_(pid), control_(std::move(control)) {}

PythonZygote::~PythonZygote() {
  if (loaded_) {
    shutdown(control_.get(), SHUT_RDWR);
    static_cast<void>(AwaitEnd(kEndTimeout));
  }
  kill(-pid_, SIGKILL);
  // The group exists from posix_spawn on; a process that left it may remain.
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<int> PythonZygote::AwaitEnd(absl::Duration timeout) const {
  const auto begin = Clock::now();
  for (;;) {
    siginfo_t end{};
    const int error = waitid(P_PID, static_cast<id_t>(pid_), &end,
                             WEXITED | WNOHANG | WNOWAIT);
    // The trainer's process may have waited for all its children.
    if (error != 0 && errno == ECHILD) return std::nullopt;
    if (end.si_pid == pid_) {
      // The encoding of waitpid.
      return end.si_code == CLD_EXITED ? end.si_status << 8 : end.si_status;
    }
    if (absl::FromChrono(Clock::now() - begin) > timeout) return std::nullopt;
    absl::SleepFor(kEndInterval);
  }
}

template <class Use>
auto PythonZygote::UnlessKilled(const Options& options, const Use& use)
    -> decltype(use(std::declval<Zygote>())) {
  for (int starts = 1;; ++starts) {
    FM_ASSIGN_OR_RETURN(Zygote process, StartProcess(options));
    auto result = use(std::move(process));
    if (!absl::IsUnavailable(result.status())) return result;
    if (starts < kStartsMax) continue;
    return FailedPrecondition(
        "{} was ended {} each time, {} times: is there too little memory, or "
        "does a module that the function imports crash? Its last lines are in "
        "the log of this process",
        options.interpreter, std::string(result.status().message()), starts);
  }
}

absl::StatusOr<std::shared_ptr<PythonZygote>> PythonZygote::Start(
    const Options& options) {
  return UnlessKilled(options, [&](Zygote zygote) -> absl::StatusOr<Zygote> {
    FM_RETURN_IF_ERROR(zygote->AwaitLoaded(options));
    return zygote;
  });
}

absl::StatusOr<std::string> PythonZygote::Describe(const Options& options) {
  return UnlessKilled(options, [&](const Zygote& process) {
    return process->ReceiveVersions(options);
  });
}

absl::StatusOr<std::string> PythonZygote::ReceiveVersions(
    const Options& options) const {
  std::string text;
  for (;;) {
    FM_ASSIGN_OR_RETURN(const bool there,
                        AwaitReadable(control_.get(), options.timeout));
    if (!there) {
      return FailedPrecondition("{} did not say its versions within {}",
                                options.interpreter,
                                absl::FormatDuration(options.timeout));
    }
    const std::string part = Receive(control_.get());
    text += part;
    if (!part.empty()) continue;
    const std::optional<int> end = AwaitEnd(kEndTimeout);
    if (!end || !WIFSIGNALED(*end)) return text;
    return Unavailable("{} while it sent its versions", EndText(*end));
  }
}

absl::StatusOr<std::shared_ptr<PythonZygote>> PythonZygote::StartProcess(
    const Options& options) {
  FM_ASSIGN_OR_RETURN(auto link, MakeLink());
  const auto size = static_cast<int64_t>(options.setup.size());
  FM_ASSIGN_OR_RETURN(const OwnedFd script, MakeFile({kProcessText}));
  FM_ASSIGN_OR_RETURN(
      const OwnedFd setup,
      MakeFile({{reinterpret_cast<const char*>(&size), sizeof size},
                options.setup,
                options.pickled}));
  FM_ASSIGN_OR_RETURN(
      const pid_t pid,
      StartInterpreter(options.interpreter, options.modules,
                       {link.second.get(), script.get(), setup.get()}));
  std::shared_ptr<PythonZygote> zygote(
      new PythonZygote(pid, std::move(link.first)));
  { const OwnedFd closed = std::move(link.second); }
  return zygote;
}

absl::Status PythonZygote::AwaitLoaded(const Options& options) {
  FM_ASSIGN_OR_RETURN(const bool there,
                      AwaitReadable(control_.get(), options.timeout));
  if (!there) {
    return FailedPrecondition("{} did not load the function within {}",
                              options.interpreter,
                              absl::FormatDuration(options.timeout));
  }
  const std::string answer = Receive(control_.get());
  loaded_ = answer == "ready";
  if (loaded_) return absl::OkStatus();
  if (answer.empty()) {
    const std::optional<int> end = AwaitEnd(kEndTimeout);
    if (end && WIFSIGNALED(*end)) {
      return Unavailable("{} while it loaded the function", EndText(*end));
    }
    return FailedPrecondition(
        "{} ended while it loaded the function: it is older than Python 3.10, "
        "or a module that the function imports ends the process. Its last "
        "lines are in the log of this process",
        options.interpreter);
  }
  return FailedPrecondition("{}", answer);
}

absl::StatusOr<std::string> PythonZygote::Exchange(std::string_view message,
                                                   std::span<const int> fds) {
  const std::lock_guard lock(mu_);
  // The wait ignores ReadStop, and so ends with the answer.
  pollfd one{control_.get(), POLLIN, 0};
  std::string answer;
  if (!broken_ && Send(control_.get(), message.data(), message.size(), fds) &&
      poll(&one, 1,
           static_cast<int>(absl::ToInt64Milliseconds(kExchangeTimeout))) ==
          1) {
    answer = Receive(control_.get());
  }
  broken_ = answer.size() < sizeof(int64_t);
  if (broken_) {
    return Unavailable("a Python process has ended, or does not answer");
  }
  return answer;
}

absl::StatusOr<pid_t> PythonZygote::Fork(int link, int input, int output) {
  const std::array<int, 3> fds{link, input, output};
  const absl::StatusOr<std::string> answer = Exchange("fork", fds);
  if (!answer.ok()) return answer.status();
  int64_t pid = 0;
  std::memcpy(&pid, answer->data(), sizeof pid);
  if (pid > 0) return static_cast<pid_t>(pid);
  return ResourceExhausted("no process for a Python function: {}; {}",
                           std::strerror(static_cast<int>(-pid)),
                           ThreadLimitsText());
}

absl::StatusOr<ProcessEnd> PythonZygote::End(pid_t pid, bool hangs) {
  const std::array<int64_t, 2> message{pid, hangs ? 1 : 0};
  const absl::StatusOr<std::string> answer = Exchange(
      {reinterpret_cast<const char*>(message.data()), sizeof message}, {});
  if (!answer.ok()) return answer.status();
  int64_t status = 0;
  std::memcpy(&status, answer->data(), sizeof status);
  return ProcessEnd{static_cast<int>(status), answer->substr(sizeof status)};
}

// ---- a process that calls the function

absl::StatusOr<std::unique_ptr<PythonProcess>> PythonProcess::Fork(
    std::shared_ptr<PythonZygote> zygote) {
  FM_ASSIGN_OR_RETURN(auto link, MakeLink());
  FM_ASSIGN_OR_RETURN(SharedMemory input, SharedMemory::Make("feedmill_in"));
  FM_ASSIGN_OR_RETURN(SharedMemory output, SharedMemory::Make("feedmill_out"));
  FM_ASSIGN_OR_RETURN(const pid_t pid,
                      zygote->Fork(link.second.get(), input.fd(), output.fd()));
  return std::unique_ptr<PythonProcess>(
      new PythonProcess(std::move(zygote), pid, std::move(link.first),
                        std::move(input), std::move(output)));
}

PythonProcess::PythonProcess(std::shared_ptr<PythonZygote> zygote, pid_t pid,
                             OwnedFd link, SharedMemory input,
                             SharedMemory output)
    : zygote_(std::move(zygote)),
      pid_(pid),
      link_(std::move(link)),
      input_(std::move(input)),
      output_(std::move(output)) {}

PythonProcess::~PythonProcess() { static_cast<void>(End(false)); }

absl::StatusOr<ProcessEnd> PythonProcess::End(bool hangs) {
  if (std::exchange(ended_, true)) return Unavailable("it was ended before");
  return zygote_->End(pid_, hangs);
}

bool PythonProcess::Waits() const {
  pollfd one{link_.get(), POLLIN, 0};
  return poll(&one, 1, 0) == 0;
}

int64_t PythonProcess::RowBeingMade() const {
  return std::atomic_ref(*reinterpret_cast<int64_t*>(output_.bytes().data()))
      .load(std::memory_order_relaxed);
}

absl::StatusOr<PythonProcess::Outcome> PythonProcess::Call(
    const RequestLayout& request, absl::Duration timeout) {
  FM_RETURN_IF_ERROR(input_.Grow(request.bytes()));
  request.WriteTo(input_.bytes().data());
  *reinterpret_cast<int64_t*>(output_.bytes().data()) = 0;
  const auto size = static_cast<int64_t>(request.bytes());
  Outcome outcome;
  outcome.kind = Outcome::Kind::kEnded;
  if (!feedmill::Send(link_.get(), &size, sizeof size, {})) return outcome;
  return Await(timeout);
}

absl::StatusOr<PythonProcess::Outcome> PythonProcess::Send(
    const std::string& message, absl::Duration timeout) {
  *reinterpret_cast<int64_t*>(output_.bytes().data()) = 0;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kEnded;
  if (!feedmill::Send(link_.get(), message.data(), message.size(), {})) {
    return outcome;
  }
  return Await(timeout);
}

absl::StatusOr<PythonProcess::Outcome> PythonProcess::Await(
    absl::Duration timeout) {
  Outcome outcome;
  int64_t row = 0;
  for (;;) {
    const auto there = AwaitReadable(link_.get(), timeout);
    const int64_t now = RowBeingMade();
    outcome.row = now < 0 ? 0 : static_cast<size_t>(now);
    outcome.at_state = now == kStateRow;
    if (!there.ok()) {
      outcome.kind = Outcome::Kind::kStopped;
      return outcome;
    }
    if (*there) break;
    if (now == row) {
      outcome.kind = Outcome::Kind::kHung;
      return outcome;
    }
    row = now;
  }
  const std::string answer = Receive(link_.get());
  std::array<int64_t, 2> head{};
  if (answer.size() < sizeof head) {
    outcome.kind = Outcome::Kind::kEnded;
    return outcome;
  }
  std::memcpy(head.data(), answer.data(), sizeof head);
  outcome.text = answer.substr(sizeof head);
  outcome.at_state = head[0] == kStateRow;
  if (head[0] >= 0 || outcome.at_state) {
    outcome.kind = Outcome::Kind::kFailed;
    outcome.row = outcome.at_state ? 0 : static_cast<size_t>(head[0]);
    return outcome;
  }
  FM_RETURN_IF_ERROR(output_.MapAll());
  return outcome;
}

}  // namespace feedmill

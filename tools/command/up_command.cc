#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/net/log.h"
#include "core/process/process_quota.h"
#include "core/python/python_pool.h"
#include "server/address_file.h"
#include "tools/command/child_process.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/scale_actor.h"
#include "tools/command/server_flags.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

constexpr char kUpSummary[] =
    "Runs a whole service on this machine: a dispatcher and its workers, as\n"
    "child processes that are restarted if they die. Runs until SIGTERM or\n"
    "SIGINT (exit 0). --workers 1..8 starts and drains workers as the jobs "
    "need them.";
constexpr char kUpExamples[] =
    "Examples:\n"
    "  feedmill up\n"
    "  feedmill up --workers 4 --port 5050\n"
    "  feedmill up --workers 1..8 --scale-down-after 5m\n"
    "  feedmill up --ready-file address & until [ -e address ]; do sleep 0.1;\n"
    "      done; feedmill read photos.yaml --service $(cat address)";

struct UpFlags {
  ServerFlags server;
  uint64_t workers_least = 2;
  uint64_t workers_most = 2;
  ScaleSettings pace;
  bool dry_run = false;
  uint64_t threads = 0;            // of each worker
  uint64_t memory_bytes = 0;       // of each worker
  uint64_t element_bytes_max = 0;  // of each worker
  std::string transport = "auto";

  std::string work_dir;      // of the dispatcher
  std::string allow_python;  // of each worker
  OpPluginFlag op_plugins;

  void Declare(FlagSet& flags) {
    flags.Range(
        "--workers", 1, 256,
        "Worker processes; within a range, the number that the jobs need",
        &workers_least, &workers_most);
    DeclareScalePace(flags, pace);
    flags.Bool("--scale-dry-run",
               "Log how many workers are wanted, and keep the least number",
               &dry_run);
    flags.Count("--threads", 1, 1024,
                "Threads of each worker; default: its share of the CPUs",
                &threads);
    flags.Bytes(
        "--memory",
        "Elements that a worker has computed and not yet sent, at most; "
        "default: 64MiB a thread, at least 256MiB, and no more than "
        "that if an eighth of the memory is less",
        &memory_bytes);
    flags.Bytes(
        "--element-max",
        "Largest element, and component of one; a larger one is an error of "
        "its element, for its reader only; default: 1GiB, which is the "
        "most, or an eighth of the memory where that is less",
        &element_bytes_max);
    flags.OneOf("--transport", {"auto", "tcp"},
                "Transport of elements: auto shares memory with readers on "
                "this host",
                &transport);
    flags.Text("--allow-python", "FILE",
               "Interpreter that runs the Python functions of pipelines; any "
               "reader may then run any code as this user; default: none",
               &allow_python);
    flags.Text("--work-dir", "DIR",
               "Folder that keeps the dispatcher's state through its restarts",
               &work_dir);
    server.Declare(flags, "workers and readers");
    op_plugins.Declare(flags);
    flags.Configurable();
  }
  bool scales() const { return workers_least < workers_most; }
};

// A pipe on which a child reports its address. Unlike a file, nothing remains
// when this process ends.
class AddressPipe {
 public:
  AddressPipe() = default;
  AddressPipe(AddressPipe&& other) noexcept { *this = std::move(other); }
  AddressPipe& operator=(AddressPipe&& other) noexcept {
    std::swap(read_end_, other.read_end_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~AddressPipe() {
    if (read_end_ >= 0) close(read_end_);
  }

  // Forgets the address and returns the write end for the next child. The
  // caller owns it.
  absl::StatusOr<int> Renew() {
    *this = AddressPipe();
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return Unavailable("cannot make a pipe: {}", std::strerror(errno));
    }
    read_end_ = ends[0];
    fcntl(read_end_, F_SETFL, O_NONBLOCK);
    return ends[1];
  }
  // Returns the child's address, "" before it is known: one line, written at
  // once.
  const std::string& Address() {
    char text[512];
    const ssize_t got = read_end_ < 0 ? 0 : read(read_end_, text, sizeof(text));
    if (got > 1) {
      address_.assign(text, static_cast<size_t>(got) - 1);
      close(std::exchange(read_end_, -1));
    }
    return address_;
  }

 private:
  int read_end_ = -1;
  std::string address_;
};

// A pipe into which the dispatcher's process writes the wanted number of
// workers, a line each time.
class NumberPipe {
 public:
  NumberPipe() = default;
  NumberPipe(const NumberPipe&) = delete;
  NumberPipe& operator=(const NumberPipe&) = delete;
  ~NumberPipe() { Close(); }

  // Gives the end that the next process writes to, which is the caller's.
  absl::StatusOr<int> Renew() {
    Close();
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return Unavailable("cannot make a pipe: {}", std::strerror(errno));
    }
    read_end_ = ends[0];
    fcntl(read_end_, F_SETFL, O_NONBLOCK);
    return ends[1];
  }
  // The last number that came since the last call.
  std::optional<uint64_t> Last() {
    char text[512];
    ssize_t got = 0;
    while (read_end_ >= 0 && (got = read(read_end_, text, sizeof(text))) > 0) {
      unread_.append(text, static_cast<size_t>(got));
    }
    std::optional<uint64_t> last;
    for (size_t end = unread_.find('\n'); end != unread_.npos;
         end = unread_.find('\n')) {
      const auto number = ParseCount(unread_.substr(0, end), 0, UINT32_MAX);
      if (number.ok()) last = *number;
      unread_.erase(0, end + 1);
    }
    if (got == 0) Close();  // its writer has ended
    return last;
  }
  // To wait for; -1: nothing can come.
  int descriptor() const { return read_end_; }

 private:
  void Close() {
    if (read_end_ >= 0) close(std::exchange(read_end_, -1));
    unread_.clear();
  }

  int read_end_ = -1;
  std::string unread_;
};

struct Child {
  std::string name;
  std::vector<std::string> arguments{};
  AddressPipe pipe{};
  pid_t pid = 0;  // 0: not running
  absl::Time started{};
  absl::Time start_at{};  // if not running: time of the next start
  int short_lives = 0;    // consecutive
  bool retires = false;   // true: it is not started again
  absl::Time kill_at = absl::InfiniteFuture();  // if it has not ended by then
};

// Restarts a dispatcher and workers when they end. One thread.
class Supervisor {
 public:
  Supervisor(UpFlags flags, StopSignals& signals)
      : flags_(std::move(flags)), signals_(signals) {}

  absl::Status Run() {
    AddressFile ready(flags_.server.ready_file);
    FM_RETURN_IF_ERROR(ready.Prepare());
    absl::Status status = RunChildren(ready);
    ready.Remove();
    StopChildren();
    return status;
  }

 private:
  // Returns OK after a signal, or the error of a failed start.
  absl::Status RunChildren(AddressFile& ready) {
    children_.push_back(DispatcherChild());
    FM_RETURN_IF_ERROR(Start(children_.front()));
    std::string address;
    while (address.empty()) {
      FM_ASSIGN_OR_RETURN(const bool stop, Step(kPoll));
      if (stop) return absl::OkStatus();
      address = children_.front().pipe.Address();
    }
    PinPort(address);
    address_ = address;
    FM_RETURN_IF_ERROR(SetWorkers(flags_.workers_least));
    while (true) {
      if (!ready_ && AllReady()) {
        ready_ = true;
        FM_RETURN_IF_ERROR(ready.Write(address));
        LogInfo("{} workers serve at {}", Workers(), address);
        // The number may have come before; no other event may follow.
        FM_RETURN_IF_ERROR(Scale());
      }
      FM_ASSIGN_OR_RETURN(const bool stop,
                          Step(ready_ ? absl::InfiniteDuration() : kPoll));
      if (stop) return absl::OkStatus();
    }
  }

  // Waits for at most `timeout` and restarts children that are due. True: asked
  // to stop.
  absl::StatusOr<bool> Step(absl::Duration timeout) {
    const absl::Time now = absl::Now();
    for (const Child& child : children_) {
      if (child.pid == 0) timeout = std::min(timeout, child.start_at - now);
      timeout = std::min(timeout, child.kill_at - now);
    }
    const std::optional<int> signal =
        signals_.Wait(wanted_.descriptor(), timeout);
    if (signal == SIGINT || signal == SIGTERM) return true;
    while (const std::optional<ChildExit> exit = ReapChild()) {
      FM_RETURN_IF_ERROR(OnExit(*exit));
    }
    FM_RETURN_IF_ERROR(Scale());
    for (Child& child : children_) {
      if (child.pid == 0 && child.start_at <= absl::Now()) {
        FM_RETURN_IF_ERROR(Start(child));
        LogInfo("started {} again as process {}", child.name, child.pid);
      }
    }
    return false;
  }

  // Follows the number that the dispatcher wants, and ends workers that do not
  // end by themselves.
  absl::Status Scale() {
    for (Child& child : children_) {
      if (child.kill_at > absl::Now()) continue;
      LogWarning("{} (process {}) has not ended in {}; killing it", child.name,
                 child.pid, FormatSeconds(kRetireTime));
      kill(child.pid, SIGKILL);
      child.kill_at = absl::InfiniteFuture();
    }
    if (const std::optional<uint64_t> last = wanted_.Last()) unmet_ = last;
    if (!unmet_.has_value() || !ready_) return absl::OkStatus();
    return SetWorkers(std::clamp(*std::exchange(unmet_, std::nullopt),
                                 flags_.workers_least, flags_.workers_most));
  }

  // Number of workers that are not retired.
  uint64_t Workers() const {
    return static_cast<uint64_t>(std::count_if(
        children_.begin(), children_.end(), [](const Child& child) {
          return child.name != "dispatcher" && !child.retires;
        }));
  }

  absl::Status SetWorkers(uint64_t wanted) {
    for (uint64_t have = Workers(); have < wanted; ++have) {
      children_.push_back(WorkerChild(FreeIndex(), address_));
      FM_RETURN_IF_ERROR(Start(children_.back()));
      if (ready_) LogInfo("started {}", children_.back().name);
    }
    for (uint64_t have = Workers(); have > wanted; --have) Retire();
    return absl::OkStatus();
  }

  uint64_t FreeIndex() const {
    uint64_t index = 0;
    const auto taken = [&](const Child& child) {
      return child.name == WorkerName(index);
    };
    while (std::any_of(children_.begin(), children_.end(), taken)) ++index;
    return index;
  }

  static std::string WorkerName(uint64_t index) {
    return fmt::format("worker-{}", index);
  }

  // The youngest worker hands its work on and ends.
  void Retire() {
    const auto child = std::find_if(
        children_.rbegin(), children_.rend(), [](const auto& each) {
          return each.name != "dispatcher" && !each.retires;
        });
    LogInfo("draining {}", child->name);
    if (child->pid == 0) {
      children_.erase(std::next(child).base());
      return;
    }
    child->retires = true;
    child->kill_at = absl::Now() + kRetireTime;
    kill(child->pid, SIGTERM);
  }

  absl::Status Start(Child& child) {
    FM_ASSIGN_OR_RETURN(const int said, child.pipe.Renew());
    std::vector<std::string> arguments = child.arguments;
    arguments.insert(arguments.end(),
                     {"--ready-file", fmt::format("/dev/fd/{}", said)});
    std::vector<int> inherited{said};
    if (&child == &children_.front() && flags_.scales() && !flags_.dry_run) {
      FM_ASSIGN_OR_RETURN(inherited.emplace_back(), wanted_.Renew());
      arguments.insert(
          arguments.end(),
          {"--scale-file", fmt::format("/dev/fd/{}", inherited.back())});
    }
    const absl::StatusOr<pid_t> started = StartSelf(arguments, inherited);
    for (const int each : inherited) close(each);
    FM_RETURN_IF_ERROR(started.status());
    child.pid = *started;
    child.started = absl::Now();
    LogDebug("{} is process {}", child.name, child.pid);
    return absl::OkStatus();
  }

  absl::Status OnExit(const ChildExit& exit) {
    const auto child =
        std::find_if(children_.begin(), children_.end(),
                     [&](const Child& each) { return each.pid == exit.pid; });
    if (child == children_.end()) return absl::OkStatus();
    child->pid = 0;
    child->pipe = AddressPipe();
    if (child->retires) {
      LogInfo("{} has ended: it {}", child->name, Describe(exit));
      children_.erase(child);
      return absl::OkStatus();
    }
    if (!ready_ && exit.signal == 0) {
      // Its flags or the machine are wrong; the child has printed the reason.
      return exit.code == kExitUsage
                 ? InvalidArgument("{} did not start (see above)", child->name)
                 : Unavailable("{} did not start: it {}", child->name,
                               Describe(exit));
    }
    const absl::Time now = absl::Now();
    const bool lived = now - child->started > absl::Seconds(10);
    child->short_lives = lived ? 0 : std::min(child->short_lives + 1, 6);
    const absl::Duration delay =
        child->short_lives <= 1
            ? absl::ZeroDuration()
            : absl::Milliseconds(100) * (1 << child->short_lives);
    child->start_at = now + delay;
    LogWarning("{} (process {}) {}; starting it again in {}", child->name,
               exit.pid, Describe(exit), FormatSeconds(delay));
    return absl::OkStatus();
  }

  static std::string FormatSeconds(absl::Duration duration) {
    return fmt::format("{:.1f} s", absl::ToDoubleSeconds(duration));
  }

  bool AllReady() {
    return std::all_of(children_.begin(), children_.end(), [](Child& child) {
      return !child.pipe.Address().empty();
    });
  }

  Child DispatcherChild() const {
    Child child{.name = "dispatcher"};
    child.arguments = {"dispatcher", "--port",
                       fmt::format("{}", flags_.server.port)};
    if (!flags_.work_dir.empty()) {
      child.arguments.insert(child.arguments.end(),
                             {"--work-dir", flags_.work_dir});
    }
    if (flags_.scales()) {
      const std::pair<const char*, std::string> pace[] = {
          {"--scale", FormatRange(flags_.workers_least, flags_.workers_most)},
          {"--scale-interval", absl::FormatDuration(flags_.pace.interval)},
          {"--scale-down-after", absl::FormatDuration(flags_.pace.down_after)}};
      for (const auto& [flag, value] : pace) {
        child.arguments.insert(child.arguments.end(), {flag, value});
      }
    }
    const HttpFlags& http = flags_.server.http;
    if (!http.at.empty()) {
      child.arguments.insert(child.arguments.end(), {"--http", http.at});
    }
    if (!http.ready_file.empty()) {
      child.arguments.insert(child.arguments.end(),
                             {"--http-ready-file", http.ready_file});
    }
    if (!http.token_file.empty()) {
      child.arguments.insert(child.arguments.end(),
                             {"--http-token-file", http.token_file});
    }
    if (http.open) child.arguments.push_back("--http-open");
    AddSharedFlags(child);
    return child;
  }

  // A restarted dispatcher must use the same port, which its peers know.
  void PinPort(const std::string& address) {
    children_.front().arguments[2] = address.substr(address.rfind(':') + 1);
  }

  Child WorkerChild(uint64_t index, const std::string& dispatcher) const {
    Child child{.name = WorkerName(index)};
    uint64_t threads = flags_.threads;
    if (threads == 0) {
      const auto cpus = static_cast<uint64_t>(AvailableCpus());
      threads = std::max<uint64_t>(1, cpus / flags_.workers_most);
    }
    child.arguments = {"worker",
                       "--dispatcher",
                       dispatcher,
                       "--threads",
                       fmt::format("{}", threads),
                       "--transport",
                       flags_.transport};
    if (flags_.memory_bytes > 0) {
      child.arguments.insert(
          child.arguments.end(),
          {"--memory", fmt::format("{}", flags_.memory_bytes)});
    }
    if (flags_.element_bytes_max > 0) {
      child.arguments.insert(
          child.arguments.end(),
          {"--element-max", fmt::format("{}", flags_.element_bytes_max)});
    }
    if (!flags_.allow_python.empty()) {
      child.arguments.insert(child.arguments.end(),
                             {"--allow-python", flags_.allow_python});
    }
    AddSharedFlags(child);
    return child;
  }

  void AddSharedFlags(Child& child) const {
    const ServerFlags& server = flags_.server;
    child.arguments.insert(child.arguments.end(), {"--log-name", child.name});
    for (const std::string& word :
         {std::string("--host"), server.host, std::string("--log-format"),
          server.log.format, std::string("--log-level"), server.log.level}) {
      child.arguments.push_back(word);
    }
    if (server.insecure_bind) child.arguments.push_back("--insecure-bind");
    if (!server.security.keys.empty()) {
      child.arguments.insert(child.arguments.end(),
                             {"--keys", server.security.keys});
    }
    if (!flags_.op_plugins.paths.empty()) {
      child.arguments.insert(child.arguments.end(),
                             {"--op-plugin", flags_.op_plugins.paths});
    }
    if (!server.cluster_id.empty()) {
      child.arguments.insert(child.arguments.end(),
                             {"--cluster-id", server.cluster_id});
    }
  }

  // Stops workers first, while the dispatcher can still take their leases.
  void StopChildren() {
    LogInfo("stopping");
    const auto workers = [](const Child& child) {
      return child.name != "dispatcher";
    };
    const auto all = [](const Child&) { return true; };
    SignalAndWait(SIGTERM, absl::Seconds(4), workers);
    SignalAndWait(SIGTERM, absl::Seconds(1), workers);
    SignalAndWait(SIGTERM, absl::Seconds(2), all);
    SignalAndWait(SIGKILL, absl::Seconds(2), all);
  }

  // Sends `signal` to the chosen running children and waits for them. Another
  // SIGTERM or SIGINT to this process ends the wait.
  template <class Choose>
  void SignalAndWait(int signal, absl::Duration timeout, Choose choose) {
    const auto running = [&](const Child& child) {
      return child.pid != 0 && choose(child);
    };
    for (const Child& child : children_) {
      if (running(child)) kill(child.pid, signal);
    }
    const absl::Time deadline = absl::Now() + timeout;
    while (std::any_of(children_.begin(), children_.end(), running)) {
      if (absl::Now() >= deadline) return;
      const std::optional<int> got = signals_.Wait(-1, deadline - absl::Now());
      while (const std::optional<ChildExit> exit = ReapChild()) {
        for (Child& child : children_) {
          if (child.pid == exit->pid) child.pid = 0;
        }
      }
      if (got == SIGINT || got == SIGTERM) return;
    }
  }

  static constexpr absl::Duration kPoll = absl::Milliseconds(20);
  // Longer than a worker takes for its drain.
  static constexpr absl::Duration kRetireTime = absl::Seconds(20);
  const UpFlags flags_;
  StopSignals& signals_;
  std::string address_;  // of the dispatcher
  NumberPipe wanted_;
  std::optional<uint64_t> unmet_;  // wanted number of workers, not yet applied
  std::vector<Child> children_;    // the first is the dispatcher
  bool ready_ = false;             // all have started once
};

}  // namespace

absl::StatusOr<int> RunUp(const Invocation& invocation) {
  UpFlags up;
  FlagSet flags("up", kUpSummary, kUpExamples);
  up.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  FM_RETURN_IF_ERROR(up.server.log.SetUp("up"));
  // Reported once here, instead of by each child.
  FM_RETURN_IF_ERROR(up.op_plugins.AddTo(invocation.registry).status());
  FM_RETURN_IF_ERROR(
      WithPython(invocation.registry, {up.allow_python}).status());
  StopSignals signals({SIGINT, SIGTERM, SIGCHLD});
  FM_RETURN_IF_ERROR(Supervisor(up, signals).Run());
  return 0;
}

}  // namespace feedmill

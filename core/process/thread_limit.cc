#include "core/process/thread_limit.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// Polls until the kernel stops counting a thread that has ended.
constexpr int kMaxPolls = 2'000;
constexpr useconds_t kPollMicroseconds = 500;

// Threads that wait until all of them are started.
class Crowd {
 public:
  // Starts `count` threads. Returns the errno of the first failure, or 0;
  // `started` is the number of threads that were started.
  int Start(size_t count, size_t& started) {
    int error = 0;
    threads_.reserve(count);
    ids_.reserve(count);
    for (started = 0; started < count && error == 0; started += error == 0) {
      pthread_t thread;
      error = pthread_create(&thread, nullptr, Wait, this);
      if (error == 0) threads_.push_back(thread);
    }
    return error;
  }

  void End() {
    {
      const std::lock_guard lock(mu_);
      over_ = true;
    }
    ends_.notify_all();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    // A joined thread still counts until the kernel has released it.
    for (const pid_t id : ids_) {
      for (int looks = 0; looks < kMaxPolls && Lives(id); ++looks) {
        usleep(kPollMicroseconds);
      }
    }
  }

 private:
  static void* Wait(void* crowd) {
    static_cast<Crowd*>(crowd)->WaitForEnd();
    return nullptr;
  }

  void WaitForEnd() {
    std::unique_lock lock(mu_);
    ids_.push_back(static_cast<pid_t>(syscall(SYS_gettid)));
    ends_.wait(lock, [this] { return over_; });
  }

  static bool Lives(pid_t thread) {
    return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
  }

  std::vector<pthread_t> threads_;
  std::mutex mu_;
  std::condition_variable ends_;
  bool over_ = false;       // guarded by mu_
  std::vector<pid_t> ids_;  // guarded by mu_
};

// Parses the first word of a file as a number; kNoLimit for "max".
constexpr uint64_t kNoLimit = UINT64_MAX;
std::optional<uint64_t> NumberIn(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  if (word == "max") return kNoLimit;
  uint64_t number = 0;
  if (!(std::istringstream(word) >> number)) return std::nullopt;
  return number;
}

// Returns whether a cgroup at `mount`/`path`, and those above it, have room for
// `count` more tasks; nullopt if no cgroup is found there.
std::optional<bool> GroupHasRoom(const std::string& mount, std::string path,
                                 uint64_t count) {
  std::optional<bool> room;
  while (true) {
    const std::string group = mount + path;
    // Every cgroup has this file. The root, and groups without the pids
    // controller, have no limit.
    if (access((group + "/cgroup.procs").c_str(), F_OK) == 0) {
      const uint64_t most = NumberIn(group + "/pids.max").value_or(kNoLimit);
      const uint64_t now = NumberIn(group + "/pids.current").value_or(0);
      room = room.value_or(true) && (most == kNoLimit || most > now + count);
    }
    if (path.empty() || path == "/") return room;
    path.resize(path.rfind('/') == path.npos ? 0 : path.rfind('/'));
  }
}

// True if every cgroup that limits this process's tasks has room.
bool GroupsHaveRoom(uint64_t count) {
  std::ifstream groups("/proc/self/cgroup");
  bool known = false;
  for (std::string line; std::getline(groups, line);) {
    const size_t name = line.find(':') + 1;
    const size_t path = line.find(':', name) + 1;
    if (name == 0 || path == 0) continue;
    const std::string controllers = line.substr(name, path - 1 - name);
    if (controllers != "pids" && !controllers.empty()) continue;
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/pids"}) {
      const auto room = GroupHasRoom(mount, line.substr(path), count);
      if (room == false) return false;
      known = known || room.has_value();
    }
  }
  return known;
}

// Returns the number of threads of all users from /proc/loadavg, e.g. "0.20
// 0.18 0.12 1/80 11206" → 80.
std::optional<uint64_t> ThreadsOfMachine() {
  std::ifstream in("/proc/loadavg");
  std::string word;
  for (int k = 0; k < 4; ++k) in >> word;
  uint64_t number = 0;
  const size_t slash = word.find('/');
  if (!in || slash == std::string::npos) return std::nullopt;
  if (!(std::istringstream(word.substr(slash + 1)) >> number)) {
    return std::nullopt;
  }
  return number;
}

// True if the limits certainly allow `count` more threads. Avoids the trial in
// CheckThreads, which takes about 20 us per thread.
bool LimitsAreFar(size_t count) {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY) {
    return false;
  }
  // other code starts threads too
  const uint64_t wanted = 2 * uint64_t{count} + 100;
  rlimit tasks{};
  if (getrlimit(RLIMIT_NPROC, &tasks) != 0) return false;
  if (tasks.rlim_cur != RLIM_INFINITY) {
    const auto now = ThreadsOfMachine();
    if (!now || tasks.rlim_cur < *now + wanted) return false;
  }
  return GroupsHaveRoom(wanted);
}

}  // namespace

absl::Status CheckThreads(size_t count, std::string_view remedy) {
  if (LimitsAreFar(count)) return absl::OkStatus();
  Crowd crowd;
  size_t started = 0;
  const int error = crowd.Start(count, started);
  crowd.End();
  if (error == 0) return absl::OkStatus();
  return ResourceExhausted(
      "{} threads are needed and {} can be started: {} ({}); raise the limit, "
      "or {}",
      count, started, std::strerror(error), ThreadLimitsText(), remedy);
}

std::string ThreadLimitsText() {
  std::string text;
  const auto add = [&text](const std::string& limit) {
    text += (text.empty() ? "" : ", ") + limit;
  };
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    add(fmt::format("ulimit -u: {} processes and threads of this user",
                    limit.rlim_cur));
  }
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    add(fmt::format("ulimit -v: {} of address space",
                    BytesText(limit.rlim_cur)));
  }
  if (text.empty()) text = "its container's limit of processes";
  return text;
}

}  // namespace feedmill

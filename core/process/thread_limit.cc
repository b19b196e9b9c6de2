#include "core/process/thread_limit.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// How long the system may take to count a thread that has ended no more.
constexpr int kLooksMax = 2'000;
constexpr useconds_t kLookMicroseconds = 500;

// Threads that wait until all of them were started.
class Crowd {
 public:
  // The errno of the first that could not be started, and how many were.
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
    // A thread that was joined still counts until the system has let it go.
    for (const pid_t id : ids_) {
      for (int looks = 0; looks < kLooksMax && Lives(id); ++looks) {
        usleep(kLookMicroseconds);
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

}  // namespace

absl::Status CheckThreads(size_t count, std::string_view remedy) {
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

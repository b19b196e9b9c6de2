#include "plugins/arrow/cloud_call.h"

#include <arrow/util/io_util.h>
#include <arrow/util/thread_pool.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "core/io/read_stop.h"
#include "plugins/arrow/arrow_status.h"

namespace feedmill {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 64;
constexpr std::chrono::milliseconds kStopLook(50);
// Limit of one call with all its repeats, at any speed.
constexpr absl::Duration kCallLimit = absl::Minutes(10);
// CPU time between two looks that shows that a call works, e.g. on a page of a
// listing. A client that waits for a server uses 0.1 ms in a second.
constexpr std::chrono::milliseconds kWork(1);
constexpr size_t kMessageBytesMax = 300;

// Never destroyed: a call that hangs must not delay the end of the process.
arrow::internal::ThreadPool* MakeThreads() {
  static const std::shared_ptr<arrow::internal::ThreadPool>& pool =
      *new std::shared_ptr<arrow::internal::ThreadPool>(
          arrow::internal::ThreadPool::MakeEternal(kThreads).ValueOr(nullptr));
  return pool.get();
}

// A call cannot be cancelled and must not use destroyed objects of its client.
// A thread that leaves a call which has ended still uses objects of Arrow. The
// pool counts both as tasks: while it has any, the process ends without
// destructors.
void EndWithoutCleanup(int status, void*) {
  if (MakeThreads()->GetNumTasks() == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

// A process runs its exit handlers and destructors in the reverse order of
// their registration. So EndWithoutCleanup is registered after Arrow's pool has
// made the static objects that its threads use, which it does with the first
// task.
bool RegisterEnd(arrow::internal::ThreadPool& threads) {
  if (!threads.Spawn([] {}).ok()) return false;
  threads.WaitForIdle();
  return on_exit(&EndWithoutCleanup, nullptr) == 0;
}

// Returns nullptr if the system refuses threads.
arrow::internal::ThreadPool* Threads() {
  arrow::internal::ThreadPool* const threads = MakeThreads();
  if (threads == nullptr) return nullptr;
  static std::mutex mutex;
  static bool registered = false;
  const std::lock_guard lock(mutex);
  registered = registered || RegisterEnd(*threads);
  return registered ? threads : nullptr;
}

bool HasOne(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) {
    return text.find(word) != std::string::npos;
  });
}

bool StopAsked(const CloudSettings& settings) {
  // The plugin has a ReadStop of its own in the threads that it starts.
  return (settings.stop_asked != nullptr && settings.stop_asked()) ||
         ReadStop::Asked();
}

absl::Duration Since(Clock::time_point begin) {
  return absl::FromChrono(Clock::now() - begin);
}

// Arrow's clients throw for a connection that ends too early.
absl::Status Try(const std::string& name,
                 const std::function<absl::Status()>& attempt) {
  try {
    return attempt();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("{}: the system refused memory", name);
  } catch (const std::exception& error) {
    return CloudError(name, arrow::Status::IOError(error.what()));
  }
}

}  // namespace

absl::Status CloudError(const std::string& name, const arrow::Status& status) {
  if (arrow::internal::ErrnoFromStatus(status) == ENOENT) {
    return NotFound("{}: the store has no such object", name);
  }
  std::string text = ErrorText(StatusOfArrow(status));
  if (HasOne(text, {"BlobNotFound", "ContainerNotFound"})) {
    return NotFound("{}: the store has no such object", name);
  }
  const bool refused =
      HasOne(text, {"PERMISSION_DENIED", "UNAUTHENTICATED", " 401", " 403",
                    "AuthenticationFailed", "AuthorizationFailure",
                    "AuthorizationPermissionMismatch", "NoAuthenticationInfo",
                    "PublicAccessNotPermitted", "INVALID_ARGUMENT",
                    "FAILED_PRECONDITION", "credential", "Base64"});
  text.resize(std::min(text.size(), kMessageBytesMax));
  if (refused) {
    return FailedPrecondition(
        "{}: refused: check the credentials of this process, whether they have "
        "expired, and that they may use it: {}",
        name, text);
  }
  return Unavailable(
      "{}: no answer of use; check the store and the network, then read again: "
      "{}",
      name, text);
}

CloudCall::CloudCall(std::string name, std::string_view what,
                     CloudSettings settings, Work work)
    : name_(std::move(name)),
      what_(what),
      settings_(std::move(settings)),
      work_(work),
      schedule_(static_cast<uint64_t>(getpid()), name_ + what_, 0) {}

std::shared_ptr<CloudCall> CloudCall::Start(const std::string& name,
                                            std::string_view what,
                                            const CloudSettings& settings,
                                            Attempt attempt, Work work) {
  const std::shared_ptr<CloudCall> call(
      new CloudCall(name, what, settings, work));
  arrow::internal::ThreadPool* const threads = Threads();
  const auto run = [call, attempt = std::move(attempt)] { call->Run(attempt); };
  if (threads == nullptr || !threads->Spawn(run).ok()) {
    call->Finish(ResourceExhausted("{}: no thread to read it", name));
  }
  return call;
}

// True if the thread of the pool holds the last reference.
bool CloudCall::IsDropped() const { return weak_from_this().use_count() == 1; }

void CloudCall::Run(const Attempt& attempt) {
  {
    const std::lock_guard lock(mutex_);
    clockid_t clock = 0;
    if (pthread_getcpuclockid(pthread_self(), &clock) == 0) cpu_clock_ = clock;
  }
  const auto patience = absl::ToChronoNanoseconds(settings_.patience);
  auto end = Clock::now() + patience;
  for (int failures = 0;; ++failures) {
    if (IsDropped()) return Finish(Cancelled("{}: not needed", name_));
    absl::Status status = Try(name_, [&] { return attempt(*this); });
    if (std::exchange(advanced_, false)) {
      failures = 0;
      end = Clock::now() + patience;
    }
    const auto pause = absl::ToChronoNanoseconds(schedule_.Pause(failures));
    if (!absl::IsUnavailable(status) || Clock::now() + pause >= end) {
      return Finish(std::move(status));
    }
    {
      const std::lock_guard lock(mutex_);
      status_ = std::move(status);
    }
    std::this_thread::sleep_for(pause);  // within `end`
  }
}

void CloudCall::Finish(absl::Status status) {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  status_ = std::move(status);
  changed_.notify_all();
}

void CloudCall::NoteKeptProgress() {
  advanced_ = true;
  NoteProgress();
}

void CloudCall::NoteProgress() {
  const std::lock_guard lock(mutex_);
  last_progress_ = Clock::now();
  status_ = absl::OkStatus();
}

// Caller holds mutex_. True if the thread of the call has worked since the last
// look. The threads of the pool never end.
bool CloudCall::HasWorked() {
  timespec used{};
  if (!cpu_clock_ || clock_gettime(*cpu_clock_, &used) != 0) return false;
  const auto now = std::chrono::seconds(used.tv_sec) +
                   std::chrono::nanoseconds(used.tv_nsec);
  const auto before = std::exchange(cpu_, now);
  return before.count() > 0 && now - before >= kWork;
}

// Caller holds mutex_. Returns the error of a call that makes no progress. If
// an attempt has ended, it is the attempt's error.
absl::Status CloudCall::Hung() const {
  if (!status_.ok()) return status_;
  return Unavailable(
      "{}: no answer of use: waited {} for {}{}; check the store and the "
      "network, then read again",
      name_,
      absl::FormatDuration(
          absl::Trunc(Since(last_progress_), absl::Milliseconds(100))),
      what_,
      cpu_clock_ ? ""
                 : fmt::format(", while {} other requests hang", kThreads));
}

absl::Status CloudCall::Wait() {
  std::unique_lock lock(mutex_);
  while (!finished_) {
    if (StopAsked(settings_)) {
      return Cancelled("{}: reading was stopped", name_);
    }
    if (work_ == Work::kIsProgress && HasWorked()) {
      last_progress_ = Clock::now();
    }
    if (Since(last_progress_) > settings_.patience ||
        Since(began_) > std::max(kCallLimit, settings_.patience)) {
      return Hung();
    }
    changed_.wait_for(lock, kStopLook);
  }
  return status_;
}

}  // namespace feedmill

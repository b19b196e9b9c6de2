#include "plugins/arrow/cloud_call.h"

#include <arrow/util/io_util.h>
#include <arrow/util/thread_pool.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <thread>

#include "core/base/status.h"
#include "core/io/read_stop.h"
#include "plugins/arrow/arrow_status.h"

namespace feedmill {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 64;
constexpr std::chrono::milliseconds kStopLook(50);
constexpr std::chrono::milliseconds kFirstPause(100);
constexpr std::chrono::milliseconds kLongestPause(5000);
// Arrow's clients may end a request this long after their own limits.
constexpr absl::Duration kBeyondPatience = absl::Seconds(30);
constexpr size_t kTextBytesMax = 300;

// Number of running calls.
std::atomic<int> g_under_way = 0;

// A call cannot be cancelled and must not use destroyed objects of its client.
// If calls are running, the process ends without destructors.
void EndWithoutCleanup(int status, void*) {
  if (g_under_way == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

// Never destroyed: a call that hangs must not delay the end of the process.
arrow::internal::ThreadPool* Threads() {
  static const std::shared_ptr<arrow::internal::ThreadPool>& pool =
      *new std::shared_ptr<arrow::internal::ThreadPool>(
          arrow::internal::ThreadPool::MakeEternal(kThreads).ValueOr(nullptr));
  static const int registered = on_exit(&EndWithoutCleanup, nullptr);
  (void)registered;
  return pool.get();
}

bool HasOne(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) {
    return text.find(word) != std::string::npos;
  });
}

bool StopAsked(const CloudSettings& settings) {
  const std::atomic<bool>* const stop =
      settings.current_stop == nullptr ? nullptr : settings.current_stop();
  // The plugin has a ReadStop of its own in the threads that it starts.
  return (stop != nullptr && *stop) || ReadStop::Asked();
}

// Arrow's clients throw for a connection that ends too early.
absl::Status Attempt(const std::string& name,
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
  text.resize(std::min(text.size(), kTextBytesMax));
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

std::shared_ptr<CloudCall> CloudCall::Start(
    const std::string& name, const CloudSettings& settings,
    std::function<absl::Status()> attempt) {
  const std::shared_ptr<CloudCall> call(new CloudCall(name, settings));
  arrow::internal::ThreadPool* const threads = Threads();
  const auto work = [call, attempt = std::move(attempt)] {
    ++g_under_way;
    call->Run(attempt);
    --g_under_way;
  };
  if (threads == nullptr || !threads->Spawn(work).ok()) {
    call->Finish(ResourceExhausted("{}: no thread to read it", name));
  }
  return call;
}

void CloudCall::Run(const std::function<absl::Status()>& attempt) {
  const auto end = Clock::now() + absl::ToChronoNanoseconds(settings_.patience);
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    absl::Status status = Attempt(name_, attempt);
    // The thread of the pool holds the last reference.
    const bool dropped = weak_from_this().use_count() == 1;
    if (!absl::IsUnavailable(status) || dropped ||
        Clock::now() + pause >= end) {
      return Finish(std::move(status));
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

absl::Status CloudCall::Wait() {
  const auto end = Clock::now() + absl::ToChronoNanoseconds(
                                      2 * settings_.patience + kBeyondPatience);
  std::unique_lock lock(mutex_);
  while (!finished_) {
    if (StopAsked(settings_)) {
      return Cancelled("{}: reading was stopped", name_);
    }
    if (Clock::now() > end) {
      return Unavailable(
          "{}: no answer; check the store and the network, then read again",
          name_);
    }
    changed_.wait_for(lock, kStopLook);
  }
  return status_;
}

}  // namespace feedmill

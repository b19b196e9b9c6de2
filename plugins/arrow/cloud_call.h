#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_CALL_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_CALL_H_

#include <arrow/status.h>

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/cloud_files.h"
#include "core/io/retry_schedule.h"

namespace feedmill {

// Converts the status of an Arrow call for the file `name`.
absl::Status CloudError(const std::string& name, const arrow::Status& status);

// Requests of one of Arrow's clients, made by a thread of a pool: a call of
// these clients cannot be cancelled, and Google's client waits two minutes for
// a server that sends nothing. While requests return Unavailable, they are
// repeated for settings.patience, or until the caller drops this object.
// (Azure's client repeats requests three times itself.)
//
// Thread-safety: any thread.
class CloudCall : public std::enable_shared_from_this<CloudCall> {
 public:
  using Attempt = std::function<absl::Status(CloudCall& call)>;

  // CPU time of the call's thread is progress, or not. It is for a listing,
  // because only the client knows of its requests for pages.
  enum class Work : bool { kIsNoProgress, kIsProgress };

  // `attempt` owns all that it uses, because it may outlive the caller. Errors
  // name `name`, and `what` the caller waits for, e.g. "a listing".
  static std::shared_ptr<CloudCall> Start(const std::string& name,
                                          std::string_view what,
                                          const CloudSettings& settings,
                                          Attempt attempt,
                                          Work work = Work::kIsNoProgress);

  // Returns the status of the last attempt. Cancelled soon after the caller's
  // ReadStop. Unavailable if the call makes no progress for the patience.
  absl::Status Wait();

  // Notes that the server works: an attempt of several requests calls it after
  // each of them.
  void NoteProgress();

  // Same, for progress that a repeated attempt keeps: also restarts the
  // patience. Only an attempt calls it.
  void NoteKeptProgress();

 private:
  CloudCall(std::string name, std::string_view what, CloudSettings settings,
            Work work);

  bool IsDropped() const;
  void Run(const Attempt& attempt);
  void Finish(absl::Status status);
  bool HasWorked();
  absl::Status Hung() const;

  const std::string name_;
  const std::string what_;
  const CloudSettings settings_;
  const Work work_;
  const RetrySchedule schedule_;
  const std::chrono::steady_clock::time_point began_ =
      std::chrono::steady_clock::now();
  // The thread of the call only: progress that the last attempt left.
  bool advanced_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::chrono::steady_clock::time_point last_progress_ = began_;
  std::optional<clockid_t> cpu_clock_;  // of the running thread
  std::chrono::nanoseconds cpu_{};      // at the last look
  bool finished_ = false;
  absl::Status status_;  // of the last attempt since the last progress
};

// Makes one call and waits for its result.
template <class T>
absl::StatusOr<T> CallCloud(
    const std::string& name, std::string_view what,
    const CloudSettings& settings, std::function<absl::StatusOr<T>()> attempt,
    CloudCall::Work work = CloudCall::Work::kIsNoProgress) {
  const auto result = std::make_shared<absl::StatusOr<T>>(
      absl::UnknownError("the call has not returned"));
  const auto call = CloudCall::Start(
      name, what, settings,
      [result, attempt](CloudCall&) {
        *result = attempt();
        return result->status();
      },
      work);
  const absl::Status status = call->Wait();
  if (!status.ok()) return status;
  return *std::move(*result);
}

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_CALL_H_

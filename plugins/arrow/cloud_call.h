#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_CALL_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_CALL_H_

#include <arrow/status.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/cloud_files.h"

namespace feedmill {

// Converts the status of an Arrow call for the file `name`.
absl::Status CloudError(const std::string& name, const arrow::Status& status);

// Requests of one of Arrow's clients, made by a thread of a pool: a call of
// these clients cannot be cancelled. While they return Unavailable, they are
// repeated for settings.patience, or until the caller drops this object.
// (Google's client repeats requests for that time itself, Azure's three times.)
//
// Thread-safety: any thread.
class CloudCall : public std::enable_shared_from_this<CloudCall> {
 public:
  // `attempt` owns all that it uses, because it may outlive the caller. The
  // error of an exception names `name`.
  static std::shared_ptr<CloudCall> Start(
      const std::string& name, const CloudSettings& settings,
      std::function<absl::Status()> attempt);

  // Returns the status of the last attempt. Cancelled soon after the caller's
  // ReadStop. Unavailable if a client does not return within the patience plus
  // the margin of the clients.
  absl::Status Wait();

 private:
  CloudCall(std::string name, CloudSettings settings)
      : name_(std::move(name)), settings_(std::move(settings)) {}

  void Run(const std::function<absl::Status()>& attempt);
  void Finish(absl::Status status);

  const std::string name_;
  const CloudSettings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool finished_ = false;
  absl::Status status_;
};

// Makes one call and waits for its result.
template <class T>
absl::StatusOr<T> CallCloud(const std::string& name,
                            const CloudSettings& settings,
                            std::function<absl::StatusOr<T>()> attempt) {
  const auto result = std::make_shared<absl::StatusOr<T>>(
      absl::UnknownError("the call has not returned"));
  const auto call = CloudCall::Start(name, settings, [result, attempt] {
    *result = attempt();
    return result->status();
  });
  const absl::Status status = call->Wait();
  if (!status.ok()) return status;
  return *std::move(*result);
}

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_CALL_H_

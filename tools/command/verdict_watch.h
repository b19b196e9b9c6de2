#ifndef FEEDMILL_TOOLS_COMMAND_VERDICT_WATCH_H_
#define FEEDMILL_TOOLS_COMMAND_VERDICT_WATCH_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace feedmill {

// Returns the sentence of the verdict on a job from a status (JSON). "" if the
// job is unknown or over, or if nothing bounds it.
std::string VerdictOf(const std::string& status, const std::string& job);

// Asks a dispatcher twice a second for the verdict on a job: once the job has
// ended, the dispatcher has none.
class VerdictWatch {
 public:
  // `status` returns the dispatcher's status. It is called on a thread.
  VerdictWatch(std::function<absl::StatusOr<std::string>()> status,
               std::string job);
  ~VerdictWatch() { Stop(); }

  // Stops asking and returns the last sentence. "" if there was none, or if the
  // dispatcher refuses the status to this client.
  std::string Stop();

 private:
  void Run();

  const std::function<absl::StatusOr<std::string>()> status_;
  const std::string job_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;  // guarded by mutex_
  std::string last_;      // the thread's; read after its end
  std::thread thread_;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_VERDICT_WATCH_H_

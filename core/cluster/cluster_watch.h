#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_WATCH_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_WATCH_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "feedmill/cluster.h"
#include "feedmill/resolver.h"

namespace feedmill {

// A task that was added (before is ""), removed (after is "") or moved.
struct ClusterChange {
  std::string job;
  int64_t index = 0;
  std::string before{};
  std::string after{};
  friend bool operator==(const ClusterChange&, const ClusterChange&) = default;
};

// Returns the changes from `before` to `after`, by job and index.
std::vector<ClusterChange> CompareClusters(const ClusterSpec& before,
                                           const ClusterSpec& after);

// "worker/3 came at w3:5051", "worker/0 moved from a:1 to b:1".
std::string ToString(const ClusterChange& change);

struct ClusterWatchOptions {
  absl::Duration interval = absl::Seconds(30);  // between two polls
  // The cluster known at the start. The first poll reports differences from it.
  ClusterSpec known{};
  // Called from the polling thread, one call at a time.
  std::function<void(const ClusterView& view,
                     const std::vector<ClusterChange>& changes)>
      on_change{};
  // Called after a failed poll, unless the previous poll failed in the same
  // way. The known cluster is kept, and later polls are up to eight times as
  // far apart.
  std::function<void(const absl::Status& status)> on_trouble{};
};

// Polls a cluster and reports the tasks that were added, removed or moved.
// Polls at once and then at each interval, in a thread of its own.
//
// Stop() returns when no callback is running and none will follow. A poll in
// progress ends first, within its resolver's own time limit. Called from a
// callback, Stop() only requests the end. The destructor stops the polling and
// must not run in a callback. Thread-safety: any thread.
class ClusterWatch {
 public:
  ClusterWatch(std::shared_ptr<const ClusterResolver> resolver,
               ClusterWatchOptions options);
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  void Stop();

 private:
  void Run();
  void LookOnce();

  const std::shared_ptr<const ClusterResolver> resolver_;
  const ClusterWatchOptions options_;
  ClusterSpec known_;     // of the thread
  absl::Status trouble_;  // of the thread; error of the last poll
  int failures_ = 0;      // of the thread; consecutive

  std::mutex mu_;
  std::condition_variable stopped_;
  bool stopping_ = false;       // guarded by mu_
  std::thread::id own_thread_;  // guarded by mu_
  std::mutex join_mu_;          // held while joining
  std::thread thread_;          // last member: it uses all others
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_WATCH_H_

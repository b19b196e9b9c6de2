#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_WATCH_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_WATCH_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/cluster/cluster_changes.h"
#include "feedmill/resolver.h"

namespace feedmill {

struct ClusterWatchOptions {
  absl::Duration interval = absl::Seconds(30);  // between two looks
  // The first look finds what came since this.
  ClusterSpec known{};
  // Called from the watch's thread, one call at a time.
  std::function<void(const ClusterView& view,
                     const std::vector<ClusterChange>& changes)>
      on_change{};
  // A look that failed, unless the one before failed in the same way. What is
  // known stays known, and the next looks are up to eight times as far apart.
  std::function<void(const absl::Status& status)> on_trouble{};
};

// Looks at a cluster again and again, at once for the first time, and tells of
// the tasks that came, went or moved. In a thread of its own, which sleeps
// between two looks.
//
// Stop() returns when no call is under way and none will follow; a look that is
// under way ends first, as its resolver's own time limit has it. From a call of
// its own it only asks for the end. Stops when it is destroyed, which must not
// be from a call of its own. Any thread.
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
  ClusterSpec known_;     // the thread's
  absl::Status trouble_;  // the thread's; the last look's
  int failures_ = 0;      // the thread's; in a row

  std::mutex mu_;
  std::condition_variable stopped_;
  bool stopping_ = false;       // guarded by mu_
  std::thread::id own_thread_;  // guarded by mu_
  std::mutex join_mu_;          // held while joining
  std::thread thread_;          // last: it uses all above
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_WATCH_H_

#ifndef FEEDMILL_CLIENT_UNACKNOWLEDGED_LEAVES_H_
#define FEEDMILL_CLIENT_UNACKNOWLEDGED_LEAVES_H_

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

// Leaves of this process's readers that the dispatcher has not acknowledged,
// because it was down or slow. The job's next reader sends them before its
// hello. So the dispatcher does not believe that an ended reader still reads,
// or that its elements are unread.
//
// Thread-safety: any thread.
class UnacknowledgedLeaves {
 public:
  static UnacknowledgedLeaves& OfThisProcess();

  // Leaves of a job at an address (Address::ToString).
  std::vector<ClientLeave> Of(const std::string& service,
                              const JobName& job) const;
  // Called when a reader ends: replaces the leaves that it took over by
  // `unacknowledged`, those still unacknowledged, its own included. The newest
  // 1,000 are kept.
  void Replace(const std::string& service,
               const std::vector<ClientLeave>& taken_over,
               std::vector<ClientLeave> unacknowledged);

 private:
  mutable std::mutex mu_;
  std::deque<std::pair<std::string, ClientLeave>> leaves_;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_UNACKNOWLEDGED_LEAVES_H_

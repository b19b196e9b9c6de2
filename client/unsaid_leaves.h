#ifndef FEEDMILL_CLIENT_UNSAID_LEAVES_H_
#define FEEDMILL_CLIENT_UNSAID_LEAVES_H_

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

// Leaves of this process's readers that their dispatcher has not acknowledged:
// it was down, or slower than the reader's end. The next reader of the job
// says them ahead of its hello, so that the dispatcher takes neither for still
// reading who has gone, nor for unread what was read.
//
// Thread-safety: any thread.
class UnsaidLeaves {
 public:
  static UnsaidLeaves& OfThisProcess();

  // Those of that job at that address (Address::ToString).
  std::vector<ClientLeave> Of(const std::string& service,
                              const JobName& job) const;
  // A reader has ended, which was given `told`, and `unsaid` is left of that
  // and of its own. The newest 1,000 are kept.
  void Replace(const std::string& service, const std::vector<ClientLeave>& told,
               std::vector<ClientLeave> unsaid);

 private:
  mutable std::mutex mu_;
  std::deque<std::pair<std::string, ClientLeave>> leaves_;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_UNSAID_LEAVES_H_

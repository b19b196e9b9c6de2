#ifndef FEEDMILL_CLIENT_WAIT_LIMITS_H_
#define FEEDMILL_CLIENT_WAIT_LIMITS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/awaited_ranks.h"
#include "client/service_link.h"
#include "client/wait_reporter.h"
#include "feedmill/reader.h"

namespace feedmill {

// How long a reader of a service waits, and what it says meanwhile.
// Thread-compatible.
class WaitLimits {
 public:
  WaitLimits(std::string service, const ReadOptions& options);

  // Why the wait that began at `begun` should end; OK: go on.
  absl::Status Late(const ServiceLink::View& view, absl::Time begun,
                    bool had_element) const;
  // Reports what is waited for, now and then.
  void Tell(const ServiceLink::View& view, absl::Time begun);
  // What the wait is for, in words.
  std::string WaitsFor(const ServiceLink::View& view) const;

 private:
  absl::Status LateData(const ServiceLink::View& view, absl::Time begun,
                        absl::Duration patience) const;

  const std::string service_;
  const absl::Duration first_timeout_;
  const absl::Duration timeout_;
  AwaitedRanks awaited_;
  WaitReporter teller_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_WAIT_LIMITS_H_

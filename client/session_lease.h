#ifndef FEEDMILL_CLIENT_SESSION_LEASE_H_
#define FEEDMILL_CLIENT_SESSION_LEASE_H_

#include <algorithm>

#include "absl/time/time.h"
#include "client/session_rules.h"

namespace feedmill {

// The time for which a session may hand out elements: half the timeout after
// the last acknowledged heartbeat was sent (rule 24). Pure.
class SessionLease {
 public:
  explicit SessionLease(const SessionRules& rules) : rules_(rules) {}

  // The time after which the dispatcher releases a silent session.
  void SetTimeout(absl::Duration timeout) { timeout_ = timeout; }
  // The answer to the heartbeat that was sent at `sent` came at `received`.
  void Renew(absl::Time sent, absl::Time received) {
    renewed_ = std::max(renewed_, rules_.RenewedFrom(sent, received));
  }
  void Lose() { renewed_ = absl::InfinitePast(); }
  bool Valid(absl::Time now) const {
    return rules_.IsValid(now, renewed_ + timeout_ / 2);
  }

 private:
  const SessionRules& rules_;
  absl::Duration timeout_ = absl::ZeroDuration();
  absl::Time renewed_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SESSION_LEASE_H_

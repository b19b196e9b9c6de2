#ifndef FEEDMILL_CLIENT_SPLIT_GRANTS_H_
#define FEEDMILL_CLIENT_SPLIT_GRANTS_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "client/credit_window.h"
#include "client/incoming_splits.h"
#include "client/session_rules.h"
#include "client/session_settings.h"
#include "core/wire/message.h"

namespace feedmill {

// Divides the credit of a session over its splits, and writes the grants that
// let workers send. Pure.
class SplitGrants {
 public:
  // The references must outlive this object. `session`: the present name.
  SplitGrants(const ReadSessionSettings& settings, const SessionRules& rules,
              const Session& session, IncomingSplits& splits,
              CreditWindow& window)
      : settings_(settings),
        rules_(rules),
        session_(session),
        splits_(splits),
        window_(window) {}

  // Gives a split credit, and grants it to the workers to which it is worth a
  // message.
  void Send(absl::Time now, IncomingSplit& split,
            std::vector<Outgoing>& sends) {
    Send(now, split, /*repeat=*/false, sends);
  }
  // The same for the head, if there is one.
  void SendHead(absl::Time now, std::vector<Outgoing>& sends);
  // The same for all splits, in order: those that are read first get credit
  // first.
  void SendAll(absl::Time now, std::vector<Outgoing>& sends) {
    SendAll(now, /*repeat=*/false, sends);
  }
  // Sends all grants, even if nothing is new, and opens streams again that may
  // have been lost without a sign (rule 12).
  void RepeatAll(absl::Time now, std::vector<Outgoing>& sends) {
    SendAll(now, /*repeat=*/true, sends);
  }

 private:
  void Send(absl::Time now, IncomingSplit& split, bool repeat,
            std::vector<Outgoing>& sends);
  void SendAll(absl::Time now, bool repeat, std::vector<Outgoing>& sends);
  void Allot(IncomingSplit& split, bool is_head);
  bool IsWorthwhile(const IncomingSplit& split, const IncomingStream& stream,
                    uint64_t total, bool head) const;

  const ReadSessionSettings& settings_;
  const SessionRules& rules_;
  const Session& session_;
  IncomingSplits& splits_;
  CreditWindow& window_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SPLIT_GRANTS_H_

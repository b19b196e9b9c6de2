#ifndef FEEDMILL_BROKER_DELIVERY_RULES_H_
#define FEEDMILL_BROKER_DELIVERY_RULES_H_

#include <cstddef>

#include "broker/dispatcher_state.h"
#include "core/wire/message.h"

namespace feedmill {

// Decisions of the delivery protocol, as functions of the state and a message.
// tests/model/README.md explains the rules. The simulator overrides single
// decisions to plant bugs; see tests/sim/planted_bugs.h.
class DeliveryRules {
 public:
  virtual ~DeliveryRules() = default;

  // True if a message of the life `said` concerns the session of `known`.
  virtual bool IsCurrent(Incarnation known, Incarnation said) const;
  // True if this life of the session is over and must not be opened again.
  virtual bool IsClosed(const DispatcherState& state, const SessionKey& key,
                        Incarnation incarnation) const;
  // Number of splits that count against the session's window.
  virtual size_t WindowUsed(const SessionState& session) const;
  // Returns the name of the next split.
  virtual SplitId NameSplit(const DispatcherState& state,
                            const SessionKey& owner, Cursor begin) const;
  // Returns the reject reason for a heartbeat whose session is not on record.
  virtual RejectReason WhyUnknown(const DispatcherState& state,
                                  const ClientBeat& beat) const;
  // Returns the reject reason for a closed session of the job.
  RejectReason WhyClosed(const DispatcherState& state,
                         const JobName& name) const;
  // True if a rank that wants a later run waits for the ranks that are behind.
  virtual bool WaitsForRanks(const ClientHello& hello) const;
  // True if a reader continues the run that it names, and so replaces its own
  // earlier lives.
  virtual bool GoesOn(const ClientHello& hello) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DELIVERY_RULES_H_

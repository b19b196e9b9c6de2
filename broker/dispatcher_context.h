#ifndef FEEDMILL_BROKER_DISPATCHER_CONTEXT_H_
#define FEEDMILL_BROKER_DISPATCHER_CONTEXT_H_

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "broker/absent_ranks.h"
#include "broker/committed_state.h"
#include "broker/delivery_rules.h"
#include "broker/dispatcher_state.h"
#include "broker/lease_table.h"
#include "broker/operator_log.h"
#include "broker/outbox.h"
#include "broker/peer_clock.h"
#include "broker/plan_table.h"
#include "broker/planner.h"
#include "broker/reader_table.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// The facts that all parts of the dispatcher share, and the effects of the
// present call. A part holds a reference to it, owns only what is its own, and
// gets the time of the call as an argument. Pure.
struct DispatcherContext {
  DispatcherContext(const DispatcherSettings& its_settings, Planner its_planner,
                    std::unique_ptr<const DeliveryRules> its_rules,
                    DispatcherState its_state, absl::Time now)
      : settings(its_settings),
        planner(std::move(its_planner)),
        rules(std::move(its_rules)),
        state(std::move(its_state)),
        clock(settings, leases, readers, now) {}
  DispatcherContext(const DispatcherContext&) = delete;
  DispatcherContext& operator=(const DispatcherContext&) = delete;

  const DispatcherSettings settings;
  const Planner planner;
  const std::unique_ptr<const DeliveryRules> rules;

  // ---- facts
  CommittedState state;  // in the journal
  LeaseTable leases{};   // workers and the splits that they have
  ReaderTable readers{};
  PeerClock clock;
  AbsentRanks ranks{settings, clock};
  PlanTable plans{planner};

  // ---- effects of the present call, beside the events of `state`
  Outbox outbox{};
  OperatorLog log{};
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCHER_CONTEXT_H_

#ifndef FEEDMILL_WORKER_AGENT_CONTEXT_H_
#define FEEDMILL_WORKER_AGENT_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "core/wire/message.h"
#include "worker/agent_clock.h"
#include "worker/compiled_plans.h"
#include "worker/compute_task.h"
#include "worker/lease_spans.h"
#include "worker/load_report.h"
#include "worker/outgoing_stream.h"
#include "worker/shared_results.h"
#include "worker/stream_rules.h"
#include "worker/unsent_pieces.h"

namespace feedmill {

// The facts that all parts of a worker's agent share, and the effects of the
// present call. A part holds a reference to it, owns only what is its own, and
// gets the time of the call as an argument. Pure.
struct AgentContext {
  AgentContext(WorkerAgentSettings its_settings,
               std::unique_ptr<const StreamRules> its_rules)
      : settings(std::move(its_settings)),
        rules(std::move(its_rules)),
        clock(settings.heartbeat_interval) {}
  AgentContext(const AgentContext&) = delete;
  AgentContext& operator=(const AgentContext&) = delete;

  WorkerAgentSettings settings;  // constant but for the name
  const std::unique_ptr<const StreamRules> rules;

  // ---- facts
  AgentClock clock;
  // Element bytes computed and not sent. Outlives all pieces.
  uint64_t used_bytes = 0;
  SharedResults shared{};
  UnsentPieces unsent{settings.memory_bytes};
  CompiledPlans plans{};
  LeasedSplits leases{};

  // ---- reports
  LoadReport load{};
  LeaseSpans spans{clock};

  // ---- effects of the present call
  WorkerEffects effects{};
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_AGENT_CONTEXT_H_

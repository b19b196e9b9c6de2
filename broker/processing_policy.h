#ifndef FEEDMILL_BROKER_PROCESSING_POLICY_H_
#define FEEDMILL_BROKER_PROCESSING_POLICY_H_

#include <cstdint>

#include "core/dataset/graph.h"

namespace feedmill {

// How the runs of a processing mode use their workers; one small class a mode.
// Splits, leases and bindings are the same for all: a mode only says what the
// run's plan is made of. Pure.
class ProcessingPolicy {
 public:
  virtual ~ProcessingPolicy() = default;
  // Whether a run can be planned only once there is a worker.
  virtual bool needs_workers() const = 0;
  // How many whole passes over the graph a run makes that begins with so many
  // workers. At least 1.
  virtual uint64_t Passes(const Graph& graph, uint64_t workers) const = 0;
};

const ProcessingPolicy& PolicyOf(Options::ProcessingMode mode);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PROCESSING_POLICY_H_

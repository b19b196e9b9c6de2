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
  // Whether a run is as many whole passes over its graph as it has slots, one
  // for each worker. If so, it can be planned only once there is a worker.
  virtual bool slotted() const = 0;
};

const ProcessingPolicy& PolicyOf(Options::ProcessingMode mode);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PROCESSING_POLICY_H_

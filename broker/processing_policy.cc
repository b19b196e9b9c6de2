#include "broker/processing_policy.h"

namespace feedmill {
namespace {

// distributed_epoch: the dataset once, its splits to whoever asks.
class DynamicPolicy : public ProcessingPolicy {
 public:
  bool slotted() const override { return false; }
};

// parallel_epochs: as many whole passes as there are workers, one slot each. A
// slot is a pass of the plan, not of a worker, so what one began goes on with
// another from its cursor.
class OffPolicy : public ProcessingPolicy {
 public:
  bool slotted() const override { return true; }
};

}  // namespace

const ProcessingPolicy& PolicyOf(Options::ProcessingMode mode) {
  static const DynamicPolicy dynamic;
  static const OffPolicy off;
  if (mode == Options::ProcessingMode::kOff) return off;
  return dynamic;
}

}  // namespace feedmill

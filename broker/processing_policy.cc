#include "broker/processing_policy.h"

#include <algorithm>
#include <variant>

#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

// distributed_epoch: the dataset once, its splits to whoever asks.
class DynamicPolicy : public ProcessingPolicy {
 public:
  bool needs_workers() const override { return false; }
  uint64_t Passes(const Graph&, uint64_t) const override { return 1; }
};

// parallel_epochs: as many whole passes as there are workers, one slot each. A
// slot is a pass of the plan, not of a worker, so what one began goes on with
// another from its cursor.
class OffPolicy : public ProcessingPolicy {
 public:
  bool needs_workers() const override { return true; }
  uint64_t Passes(const Graph& graph, uint64_t workers) const override {
    // The passes come one after the other, so each needs an end.
    const bool endless =
        IsEndless(graph.source) ||
        std::any_of(graph.steps.begin(), graph.steps.end(),
                    [](const Step& step) {
                      const auto* repeat = std::get_if<RepeatStep>(&step);
                      return repeat != nullptr && !repeat->count.has_value();
                    });
    return endless ? 1 : std::max<uint64_t>(1, workers);
  }
};

}  // namespace

const ProcessingPolicy& PolicyOf(Options::ProcessingMode mode) {
  static const DynamicPolicy dynamic;
  static const OffPolicy off;
  if (mode == Options::ProcessingMode::kOff) return off;
  return dynamic;
}

}  // namespace feedmill

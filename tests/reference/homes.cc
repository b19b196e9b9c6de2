#include "tests/reference/homes.h"

#include <algorithm>
#include <variant>

#include "core/dataset/skipping.h"
#include "tests/reference/combination.h"
#include "tests/reference/formats.h"
#include "tests/reference/places.h"
#include "tests/reference/shuffles.h"
#include "tests/reference/streams.h"

namespace feedmill::reference {

Homes HomesOf(const Graph& graph, bool is_input) {
  Homes homes;
  homes.client_begin = graph.steps.size();
  const bool shuffled =
      std::any_of(graph.steps.begin(), graph.steps.end(), ShufflesAll);
  homes.counted = !HasStreams(graph.source) &&
                  (InputsOf(graph.source) != nullptr ||
                   IsCounted(graph.source) || shuffled || is_input);
  bool changed = !homes.counted, batched = false;
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Step& step = graph.steps[s];
    if (const auto* repeat = step.As<RepeatStep>())
      homes.endless = homes.endless || !repeat->count;
    if (step.Is<FilterStep>()) changed = true;
    if (Skips(step)) {
      changed = true;
      homes.skip_before = s;
    }
    const bool batches = step.Is<BatchStep>();
    if ((NeedsPlaces(step) && (changed || (batched && batches))) ||
        SeesSequence(step))
      homes.client_begin = std::min(homes.client_begin, s);
    batched = batched || batches;
    if (step.Is<TakeStep>() && s < homes.client_begin)
      homes.plan_ends = homes.plan_ends || !InPass(graph, s);
  }
  return homes;
}

}  // namespace feedmill::reference

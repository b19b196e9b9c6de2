#include "tests/reference/placements.h"

#include <algorithm>
#include <variant>

#include "core/dataset/skipping.h"
#include "tests/reference/combination.h"
#include "tests/reference/formats.h"
#include "tests/reference/needed_components.h"
#include "tests/reference/places.h"
#include "tests/reference/shuffles.h"
#include "tests/reference/streams.h"

namespace feedmill::reference {

Placements PlacementsOf(const Graph& graph, bool is_input) {
  Placements placements;
  placements.client_begin = graph.steps.size();
  const bool shuffled =
      std::any_of(graph.steps.begin(), graph.steps.end(), ShufflesAll);
  placements.counted = !HasStreams(graph.source) &&
                       (InputsOf(graph.source) != nullptr ||
                        IsCounted(graph.source) || shuffled || is_input);
  bool changed = !placements.counted, batched = false;
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Step& step = graph.steps[s];
    if (const auto* repeat = step.As<RepeatStep>())
      placements.infinite = placements.infinite || !repeat->count;
    if (Drops(step)) changed = true;
    if (Skips(step)) {
      changed = true;
      placements.skip_before = s;
    }
    const bool batches = step.Is<BatchStep>();
    if ((NeedsPlaces(step) && (changed || (batched && batches))) ||
        SeesSequence(step))
      placements.client_begin = std::min(placements.client_begin, s);
    batched = batched || batches;
    if (step.Is<TakeStep>() && s < placements.client_begin)
      placements.plan_ends = placements.plan_ends || !InPass(graph, s);
  }
  return placements;
}

}  // namespace feedmill::reference

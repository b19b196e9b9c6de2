#include "core/dataset/column_pruning.h"

#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/component_mask.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"

namespace feedmill {
namespace {

using Mask = ComponentMask;  // by component, as written

ElementSpec Selected(const ElementSpec& written, const Mask& made) {
  ElementSpec out;
  for (size_t c = 0; c < made.size(); ++c) {
    if (made[c]) out.components.push_back(written.components[c]);
  }
  return out;
}

// Shares `written` if all components are made.
std::shared_ptr<const ElementSpec> Selected(
    const std::shared_ptr<const ElementSpec>& written, const Mask& made) {
  FM_CHECK(made.size() == written->components.size());
  return AllOf(made)
             ? written
             : std::make_shared<const ElementSpec>(Selected(*written, made));
}

// Returns the mask; if it has no component, the first one, which may have a
// validity.
Mask AtLeastOne(const ElementSpec& spec, Mask mask) {
  if (!AnyOf(mask) && !spec.components.empty()) {
    AddNeeded(spec.components[0].name, spec, mask);
  }
  return mask;
}

std::shared_ptr<const AnalyzedGraph> Pruned(const AnalyzedGraph& graph,
                                            const Mask& wanted) {
  auto out = std::make_shared<AnalyzedGraph>(graph);
  const size_t count = graph.steps.size();
  std::vector<Mask> needed(count + 1);  // before each step, and at the end
  needed[count] = wanted;
  for (size_t s = count; s-- > 0;) {
    const Step& step = graph.graph.steps[s];
    needed[s] =
        step.kind().Needed(step.options(), graph.InputOf(s), needed[s + 1]);
  }
  const SourceProperties properties = PropertiesOf(graph.graph.source);
  if (!properties.measured.empty()) {
    AddNeeded(std::string(properties.measured), graph.source.spec, needed[0]);
  }
  Mask made = AtLeastOne(graph.source.spec, needed[0]);
  if (properties.pairs_inputs) {
    made.clear();
    for (auto& input : out->inputs) {
      const size_t components = input->output->components.size();
      const auto begin =
          needed[0].begin() + static_cast<ptrdiff_t>(made.size());
      const Mask of_input = AtLeastOne(
          *input->output, {begin, begin + static_cast<ptrdiff_t>(components)});
      input = Pruned(*input, of_input);
      made.insert(made.end(), of_input.begin(), of_input.end());
    }
  } else {
    for (auto& input : out->inputs) input = Pruned(*input, made);
  }
  out->source.spec = Selected(graph.source.spec, made);
  out->source.live = made;
  for (size_t s = 0; s < count; ++s) {
    const Step& step = graph.graph.steps[s];
    made =
        step.kind().Made(step.options(), graph.InputOf(s), made, needed[s + 1]);
    out->steps[s].output = Selected(graph.steps[s].output, made);
  }
  out->output = Selected(graph.output, wanted);
  if (graph.cached != nullptr) {  // a cache keeps all components
    out->cached = Pruned(*graph.cached,
                         Mask(graph.cached->output->components.size(), true));
  }
  return out;
}

}  // namespace

std::shared_ptr<const AnalyzedGraph> PruneColumns(const AnalyzedGraph& graph) {
  return Pruned(graph, Mask(graph.output->components.size(), true));
}

}  // namespace feedmill

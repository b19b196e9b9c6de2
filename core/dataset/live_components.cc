#include "core/dataset/live_components.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/type_inference.h"

namespace feedmill {
namespace {

using Mask = std::vector<bool>;  // by component, as written

template <class T>
const T* As(const Step& step) {
  return std::get_if<T>(&step);
}

bool Any(const Mask& mask) {
  return std::find(mask.begin(), mask.end(), true) != mask.end();
}

bool All(const Mask& mask) {
  return std::find(mask.begin(), mask.end(), false) == mask.end();
}

// Of what is there, what is needed; the first of it if nothing is: an element
// never loses all that it has.
Mask Kept(const Mask& there, const Mask& needed) {
  Mask kept(there.size());
  for (size_t c = 0; c < there.size(); ++c) kept[c] = there[c] && needed[c];
  const auto first = std::find(there.begin(), there.end(), true);
  if (!Any(kept) && first != there.end()) {
    kept[static_cast<size_t>(first - there.begin())] = true;
  }
  return kept;
}

Mask FirstIfNone(const Mask& needed) {
  return Kept(Mask(needed.size(), true), needed);
}

ElementSpec Selected(const ElementSpec& written, const Mask& made) {
  ElementSpec out;
  for (size_t c = 0; c < made.size(); ++c) {
    if (made[c]) out.components.push_back(written.components[c]);
  }
  return out;
}

// Shares what is whole.
std::shared_ptr<const ElementSpec> Selected(
    const std::shared_ptr<const ElementSpec>& written, const Mask& made) {
  FM_CHECK(made.size() == written->components.size());
  return All(made)
             ? written
             : std::make_shared<const ElementSpec>(Selected(*written, made));
}

void Need(const std::string& component, const ElementSpec& in, Mask& needed) {
  const auto found = FindComponent(in, component);
  if (found.ok()) needed[*found] = true;  // else it is the name of a dtype
}

void Need(const Expr& expr, const ElementSpec& in, Mask& needed) {
  if (const auto* component = std::get_if<Expr::Component>(&expr.node())) {
    Need(component->name, in, needed);
  } else if (const auto* call = std::get_if<Expr::Call>(&expr.node())) {
    for (const Expr& argument : call->arguments) Need(argument, in, needed);
  }
}

bool IsRagged(const Step& step) {
  const auto* batch = As<BatchStep>(step);
  const auto* tokens = As<TokenBatchStep>(step);
  return (batch != nullptr && batch->layout == BatchLayout::kRagged) ||
         (tokens != nullptr && tokens->layout == BatchLayout::kRagged);
}

// Steps that make the lengths of components equal, or compare them.
bool NeedsAll(const Step& step) {
  return As<CacheStep>(step) != nullptr || As<UnbatchStep>(step) != nullptr ||
         As<RebatchStep>(step) != nullptr || As<PackStep>(step) != nullptr;
}

// Which components of `in` a step needs for those of its own that are needed.
Mask NeededBefore(const Step& step, const ElementSpec& in, const Mask& needed) {
  const size_t count = in.components.size();
  if (NeedsAll(step)) return Mask(count, true);
  Mask out(count);
  if (const auto* map = As<MapStep>(step)) {
    const Mask made = FirstIfNone(needed);
    for (size_t k = 0; k < made.size(); ++k) {
      if (made[k]) Need(map->outputs[k].second, in, out);
    }
    return out;
  }
  if (const auto* flat_map = As<FlatMapStep>(step)) {  // compares lengths
    for (const auto& [name, expr] : flat_map->outputs) Need(expr, in, out);
    return out;
  }
  if (As<ParseExampleStep>(step) != nullptr ||
      As<ParseSequenceExampleStep>(step) != nullptr) {
    return Mask(count, true);  // it is the only one
  }
  if (As<EnumerateStep>(step) != nullptr) {
    return {needed.begin() + 1, needed.end()};
  }
  if (IsRagged(step)) {
    size_t at = 0;
    for (size_t c = 0; c < count; ++c) {
      out[c] = needed[at++];
      if (in.components[c].shape.empty()) continue;
      out[c] = needed[at++] || out[c];  // <name>_offsets
    }
  } else {
    out = needed;
  }
  if (const auto* filter = As<FilterStep>(step)) {
    Need(filter->predicate, in, out);
  } else if (const auto* bucket = As<BucketBySequenceLengthStep>(step)) {
    Need(bucket->component, in, out);
  } else if (const auto* tokens = As<TokenBatchStep>(step)) {
    Need(tokens->component, in, out);
  }
  return out;
}

// What a step makes of those of `in` that are made: steps on elements alone,
// which make others or drop some, no more than is needed; the others what
// comes.
Mask MadeBy(const Step& step, const ElementSpec& in, const Mask& made,
            const Mask& needed) {
  if (As<MapStep>(step) != nullptr || As<ParseExampleStep>(step) != nullptr ||
      As<ParseSequenceExampleStep>(step) != nullptr) {
    return FirstIfNone(needed);
  }
  if (As<FlatMapStep>(step) != nullptr) return Mask(needed.size(), true);
  if (As<FilterStep>(step) != nullptr || As<DecodeImageStep>(step) != nullptr ||
      As<ResizeStep>(step) != nullptr || As<RandomFlipStep>(step) != nullptr) {
    return Kept(made, needed);
  }
  Mask out;
  if (As<EnumerateStep>(step) != nullptr) out.push_back(true);
  for (size_t c = 0; c < made.size(); ++c) {
    out.push_back(made[c]);
    if (IsRagged(step) && !in.components[c].shape.empty()) {
      out.push_back(made[c]);
    }
  }
  if (As<PackStep>(step) != nullptr) out.resize(out.size() + 2, true);
  return out;
}

std::shared_ptr<const AnalyzedGraph> WithoutDead(const AnalyzedGraph& graph,
                                                 const Mask& wanted) {
  auto out = std::make_shared<AnalyzedGraph>(graph);
  const size_t count = graph.steps.size();
  std::vector<Mask> needed(count + 1);  // before each step, and at the end
  needed[count] = wanted;
  for (size_t s = count; s-- > 0;) {
    needed[s] =
        NeededBefore(graph.graph.steps[s], graph.InputOf(s), needed[s + 1]);
  }
  Mask made = FirstIfNone(needed[0]);
  if (std::holds_alternative<ZipSource>(graph.graph.source)) {
    made.clear();
    for (auto& input : out->inputs) {
      const size_t components = input->output->components.size();
      const auto begin =
          needed[0].begin() + static_cast<ptrdiff_t>(made.size());
      const Mask of_input =
          FirstIfNone({begin, begin + static_cast<ptrdiff_t>(components)});
      input = WithoutDead(*input, of_input);
      made.insert(made.end(), of_input.begin(), of_input.end());
    }
  } else {
    for (auto& input : out->inputs) input = WithoutDead(*input, made);
  }
  out->source.spec = Selected(graph.source.spec, made);
  out->source.live = made;
  for (size_t s = 0; s < count; ++s) {
    made = MadeBy(graph.graph.steps[s], graph.InputOf(s), made, needed[s + 1]);
    out->steps[s].output = Selected(graph.steps[s].output, made);
  }
  out->output = Selected(graph.output, wanted);
  if (graph.cached != nullptr) {  // it keeps elements whole
    out->cached = WithoutDead(
        *graph.cached, Mask(graph.cached->output->components.size(), true));
  }
  return out;
}

}  // namespace

std::shared_ptr<const AnalyzedGraph> WithoutDeadComponents(
    const AnalyzedGraph& graph) {
  return WithoutDead(graph, Mask(graph.output->components.size(), true));
}

}  // namespace feedmill

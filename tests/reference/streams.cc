#include "tests/reference/streams.h"

#include <algorithm>

#include "core/dataset/source_types.h"
#include "tests/reference/combination.h"
#include "tests/reference/shuffles.h"

namespace feedmill::reference {
namespace {

using Elements = std::vector<Element>;

bool IsStream(const Graph& input) {
  if (SourceCompression(input.source) != Compression::kNone) return true;
  for (const Step& step : input.steps) {
    const bool counts = std::holds_alternative<TakeStep>(step) ||
                        std::holds_alternative<SkipStep>(step);
    if (std::holds_alternative<FilterStep>(step) || SeesSequence(step) ||
        (NeedsPlaces(step) && !counts))
      return true;
  }
  return HasStreams(input.source);
}

Elements ElementsOf(Sequence sequence) {
  if (sequence.failed) sequence.elements.push_back({});
  return std::move(sequence.elements);
}

Elements Mixed(const MixtureSource& source, size_t bound, const RunInput& run) {
  struct Input {
    Elements elements;
    size_t at = 0;
    uint64_t given = 0, turn = 0;
    bool whole = false;
  };
  std::vector<Input> inputs(source.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].elements = ElementsOf(run(i, 0));
  MixtureOrder order(source);
  Elements out;
  while (out.size() < bound) {
    const size_t chosen = order.Next();
    Input& input = inputs[chosen];
    if (input.at == input.elements.size()) {
      if (source.stop == MixtureSource::Stop::kFirstExhausted) break;
      if (input.given > 0)
        input.elements = ElementsOf(run(chosen, ++input.turn));
      input.at = 0;
      if (input.elements.empty()) {
        out.push_back({});
        break;
      }
    }
    out.push_back(input.elements[input.at++]);
    if (out.back().empty()) break;
    ++input.given;
    if (input.at == input.elements.size()) input.whole = true;
    const bool all = std::all_of(inputs.begin(), inputs.end(),
                                 [](const Input& one) { return one.whole; });
    if (all && source.stop == MixtureSource::Stop::kAllExhausted) break;
  }
  return out;
}

}  // namespace

bool HasStreams(const Source& source) {
  const std::vector<Graph>* inputs = InputsOf(source);
  return inputs && std::any_of(inputs->begin(), inputs->end(), IsStream);
}

Elements StreamElements(const Source& source, size_t bound,
                        const RunInput& run) {
  if (auto* mixture = std::get_if<MixtureSource>(&source))
    return Mixed(*mixture, bound, run);
  std::vector<Elements> inputs;
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < InputsOf(source)->size(); ++i) {
    inputs.push_back(ElementsOf(run(i, 0)));
    sizes.push_back(inputs.back().size());
  }
  Elements out;
  for (const auto& picks : Picks(source, sizes, bound)) {
    Element element;
    for (const Pick& pick : picks) {
      const Element& part = inputs[pick.input][pick.position];
      if (part.empty()) {
        out.push_back({});
        return out;
      }
      element.insert(element.end(), part.begin(), part.end());
    }
    out.push_back(std::move(element));
  }
  return out;
}

}  // namespace feedmill::reference

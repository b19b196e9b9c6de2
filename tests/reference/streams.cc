#include "tests/reference/streams.h"

#include <algorithm>
#include <optional>

#include "core/dataset/skipping.h"
#include "core/dataset/source_types.h"
#include "tests/reference/combination.h"
#include "tests/reference/needed_components.h"
#include "tests/reference/shuffles.h"

namespace feedmill::reference {
namespace {

using Elements = std::vector<Element>;

bool IsStream(const Graph& input) {
  if (!ReadInOrderReason(input.source).empty()) return true;
  for (const Step& step : input.steps) {
    const bool counts =
        step.Is<TakeStep>() || step.Is<SkipStep>() || step.Is<SubsetStep>();
    if (Drops(step) || Skips(step) || SeesSequence(step) ||
        (NeedsPlaces(step) && !counts))
      return true;
  }
  return HasStreams(input.source);
}

// An input being read.
struct Input {
  Elements elements;
  size_t at = 0;
  uint64_t given = 0, turn = 0;
  bool whole = false;

  Input(const RunInput& run, size_t i) { Begin(run, i); }

  void Begin(const RunInput& run, size_t i) {
    Sequence made = run(i, turn);
    if (made.failed) made.elements.push_back({});
    elements = std::move(made.elements);
    at = 0;
  }
  // True if there is another element. First moves skipped elements before it to
  // `out`.
  bool Look(Elements& out) {
    while (at < elements.size() && !TakesTurn(elements[at]))
      out.push_back(elements[at++]);
    return at < elements.size();
  }
  // Outputs the next element; false if it failed.
  bool Give(Elements& out) {
    ++given;
    out.push_back(elements[at++]);
    return !out.back().empty();
  }
};

uint64_t SizeOf(const Element& element, const MixtureMeasure& measure) {
  for (const Component& component : element) {
    if (component.name != measure.component) continue;
    const Tensor& value = component.value;
    uint64_t items = 1;
    for (const int64_t dim : value.shape) items *= static_cast<uint64_t>(dim);
    if (measure.unit == MixtureMeasure::Unit::kItems) return items;
    if (value.dtype != DType::kBytes) return items * ItemSize(value.dtype);
    uint64_t bytes = 0;
    for (const std::string& text : value.strings) bytes += text.size();
    return bytes;
  }
  return 0;
}

Elements Mixed(const MixtureSource& source, size_t bound, const RunInput& run,
               std::vector<Input> inputs) {
  MixtureOrder order(source);
  std::vector<uint64_t> sizes(inputs.size(), 0);
  uint64_t all = 0;  // of elements, or their sizes
  Elements out;
  while (out.size() < bound) {
    if (order.Changes(all)) sizes.assign(inputs.size(), 0);
    const size_t chosen =
        source.measure.component.empty() ? order.Next() : order.LeastFor(sizes);
    Input& input = inputs[chosen];
    if (!input.Look(out)) {
      if (source.stop == MixtureSource::Stop::kFirstExhausted) break;
      if (input.given > 0) {
        ++input.turn;
        input.Begin(run, chosen);
      }
      if (!input.Look(out)) {
        out.push_back({});
        break;
      }
    }
    const uint64_t size = SizeOf(input.elements[input.at], source.measure);
    sizes[chosen] += size;
    all += source.measure.component.empty() ? 1 : size;
    if (!input.Give(out)) break;
    if (source.stop != MixtureSource::Stop::kAllExhausted) continue;
    input.whole = input.whole || !input.Look(out);
    if (std::all_of(inputs.begin(), inputs.end(),
                    [](const Input& one) { return one.whole; }))
      break;
  }
  return out;
}

Elements InARow(size_t bound, std::vector<Input> inputs) {
  Elements out;
  for (Input& input : inputs)
    while (input.Look(out))
      if (out.size() >= bound || !input.Give(out)) return out;
  return out;
}

Elements Interleaved(const InterleaveSource& source, size_t bound,
                     std::vector<Input> inputs) {
  std::vector<std::optional<size_t>> entries(
      source.cycle_length == 0 ? inputs.size()
                               : static_cast<size_t>(source.cycle_length));
  size_t begun = 0, empty = 0;
  Elements out;
  for (size_t at = 0; empty < entries.size(); at = (at + 1) % entries.size()) {
    auto& entry = entries[at];
    if (!entry && begun < inputs.size()) entry = begun++;
    empty = entry ? 0 : empty + 1;
    for (int64_t k = 0; entry && k < source.block_length; ++k) {
      if (!inputs[*entry].Look(out)) {
        entry.reset();
      } else if (out.size() >= bound || !inputs[*entry].Give(out)) {
        return out;
      }
    }
  }
  return out;
}

Elements Zipped(size_t bound, std::vector<Input> inputs) {
  Elements out;
  while (out.size() < bound) {
    for (Input& input : inputs)
      if (!input.Look(out)) return out;
    Element element;
    bool left_out = false, fails = false;
    for (Input& input : inputs) {
      const Element& part = input.elements[input.at++];
      fails = fails || part.empty();
      left_out = left_out || IsLeftOut(part);
      element.insert(element.end(), part.begin(), part.end());
    }
    out.push_back(fails      ? Element()
                  : left_out ? LeftOut(true)
                             : std::move(element));
    if (fails) return out;
  }
  return out;
}

constexpr char kLeftOut[] = "\1 left out";
constexpr char kTakesTurn[] = "\1 left out, in its turn";

}  // namespace

Element LeftOut(bool takes_turn) {
  return {{takes_turn ? kTakesTurn : kLeftOut, {}}};
}

bool IsLeftOut(const Element& element) {
  return element.size() == 1 &&
         (element[0].name == kLeftOut || element[0].name == kTakesTurn);
}

bool TakesTurn(const Element& element) {
  return element.size() != 1 || element[0].name != kLeftOut;
}

bool HasStreams(const Source& source) {
  const auto* mixture = source.As<MixtureSource>();
  if (mixture && !mixture->measure.component.empty()) return true;
  const std::vector<Graph>* inputs = InputsOf(source);
  return inputs && std::any_of(inputs->begin(), inputs->end(), IsStream);
}

Elements StreamElements(const Source& source, size_t bound,
                        const RunInput& run) {
  std::vector<Input> inputs;
  for (size_t i = 0; i < InputsOf(source)->size(); ++i)
    inputs.emplace_back(run, i);
  if (auto* mixture = source.As<MixtureSource>())
    return Mixed(*mixture, bound, run, std::move(inputs));
  if (auto* interleave = source.As<InterleaveSource>())
    return Interleaved(*interleave, bound, std::move(inputs));
  return source.Is<ZipSource>() ? Zipped(bound, std::move(inputs))
                                : InARow(bound, std::move(inputs));
}

}  // namespace feedmill::reference

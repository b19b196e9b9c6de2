#include "tests/reference/combination.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace feedmill::reference {
namespace {

using Sizes = std::vector<uint64_t>;
using All = std::vector<std::vector<Pick>>;

All Concatenated(const Sizes& sizes, size_t bound) {
  All out;
  for (size_t i = 0; i < sizes.size(); ++i)
    for (uint64_t k = 0; k < sizes[i] && out.size() < bound; ++k)
      out.push_back({{i, 0, k}});
  return out;
}

All Zipped(const Sizes& sizes, size_t bound) {
  All out;
  const uint64_t size = *std::min_element(sizes.begin(), sizes.end());
  for (uint64_t k = 0; k < size && out.size() < bound; ++k) {
    out.emplace_back();
    for (size_t i = 0; i < sizes.size(); ++i) out.back().push_back({i, 0, k});
  }
  return out;
}

// Takes one element at a time, like tf.data's interleave.
All Interleaved(const InterleaveSource& source, const Sizes& sizes,
                size_t bound) {
  const size_t cycle = source.cycle_length == 0
                           ? sizes.size()
                           : static_cast<size_t>(source.cycle_length);
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> entries(cycle, kNone);
  std::vector<uint64_t> taken(sizes.size(), 0);
  All out;
  size_t next = 0, entry = 0;
  int64_t in_block = 0;
  const auto go_on = [&] {
    entry = (entry + 1) % cycle;
    in_block = 0;
  };
  while (out.size() < bound) {
    const bool any = std::any_of(entries.begin(), entries.end(),
                                 [&](size_t i) { return i != kNone; });
    if (!any && next == sizes.size()) break;
    size_t& input = entries[entry];
    if (input == kNone && next < sizes.size()) {
      input = next++;
    } else if (input == kNone) {
      go_on();
    } else if (taken[input] == sizes[input]) {
      input = kNone;
      go_on();
    } else {
      out.push_back({{input, 0, taken[input]++}});
      if (++in_block == source.block_length) go_on();
    }
  }
  return out;
}

// Returns the weights as whole numbers: multiplied by the first power of ten
// that makes them whole.
std::vector<uint64_t> WholeWeights(const std::vector<double>& weights) {
  for (double scale = 1; scale < 1e12; scale *= 10) {
    std::vector<uint64_t> whole;
    bool fits = true;
    for (const double weight : weights) {
      const double scaled = weight * scale;
      fits = fits && std::fabs(scaled - std::round(scaled)) < 1e-6 &&
             (std::round(scaled) >= 1 || weight == 0);
      whole.push_back(static_cast<uint64_t>(std::llround(scaled)));
    }
    if (fits) return whole;
  }
  throw std::logic_error("weights with too many digits");
}

All Mixed(const MixtureSource& source, const Sizes& sizes, size_t bound) {
  MixtureOrder order(source);
  std::vector<uint64_t> given(sizes.size(), 0);
  All out;
  while (out.size() < bound) {
    order.Changes(out.size());
    const size_t chosen = order.Next();
    const bool lacks = given.at(chosen) >= sizes[chosen];
    if (lacks && source.stop == MixtureSource::Stop::kFirstExhausted) break;
    if (sizes[chosen] == 0) throw std::logic_error("an empty input");
    out.push_back({{chosen, given[chosen] / sizes[chosen],
                    given[chosen] % sizes[chosen]}});
    ++given[chosen];
    bool all = source.stop == MixtureSource::Stop::kAllExhausted;
    for (size_t i = 0; i < sizes.size(); ++i)
      all = all && sizes[i] != kNoEnd && given[i] >= sizes[i];
    if (all) break;
  }
  return out;
}

}  // namespace

MixtureOrder::MixtureOrder(const MixtureSource& source)
    : changes_(source.changes.begin(), source.changes.end()) {
  const auto inputs = static_cast<ptrdiff_t>(source.inputs.size());
  for (auto at = source.weights.begin(); at != source.weights.end();
       at += inputs)
    phases_.push_back(WholeWeights({at, at + inputs}));
  SetWeights();
}

void MixtureOrder::SetWeights() {
  weights_ = phases_.at(phase_);
  given_.assign(weights_.size(), 0);
  sum_ = n_ = 0;
  for (const uint64_t weight : weights_) sum_ += weight;
}

bool MixtureOrder::Changes(uint64_t all) {
  bool changed = false;
  while (phase_ < changes_.size() && all >= changes_[phase_]) {
    ++phase_;
    SetWeights();
    changed = true;
  }
  return changed;
}

size_t MixtureOrder::Next() {
  // An input is eligible if it stays within its share, rounded up. Among these,
  // choose the one whose share, rounded down, is due first.
  ++n_;
  size_t chosen = weights_.size();
  uint64_t earliest = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (given_[i] * sum_ >= n_ * weights_[i]) continue;
    const uint64_t due =
        ((given_[i] + 1) * sum_ + weights_[i] - 1) / weights_[i];
    if (chosen == weights_.size() || due < earliest) {
      chosen = i;
      earliest = due;
    }
  }
  ++given_.at(chosen);
  return chosen;
}

size_t MixtureOrder::LeastFor(const std::vector<uint64_t>& sizes) const {
  const auto less = [&](size_t a, size_t b) {
    return static_cast<long double>(sizes[a]) * weights_[b] <
           static_cast<long double>(sizes[b]) * weights_[a];
  };
  size_t least = 0;
  while (weights_[least] == 0) ++least;
  for (size_t i = least + 1; i < sizes.size(); ++i)
    if (weights_[i] > 0 && less(i, least)) least = i;
  return least;
}

const std::vector<Graph>* InputsOf(const Source& source) {
  if (auto* s = source.As<ConcatenateSource>()) return &s->inputs;
  if (auto* s = source.As<ZipSource>()) return &s->inputs;
  if (auto* s = source.As<InterleaveSource>()) return &s->inputs;
  if (auto* s = source.As<MixtureSource>()) return &s->inputs;
  return nullptr;
}

bool HasNoEnd(const Source& source) {
  const std::vector<Graph>* inputs = InputsOf(source);
  if (inputs == nullptr) return false;
  size_t infinite = 0;
  for (const Graph& input : *inputs) infinite += HasNoEnd(input);
  const bool all = infinite == inputs->size();
  if (source.Is<ZipSource>()) return all;
  auto* mixture = source.As<MixtureSource>();
  if (mixture && mixture->stop == MixtureSource::Stop::kRepeat) return true;
  if (mixture && mixture->stop == MixtureSource::Stop::kFirstExhausted)
    return all;
  return infinite > 0;
}

bool HasNoEnd(const Graph& graph, size_t steps) {
  bool infinite = HasNoEnd(graph.source);
  for (size_t s = 0; s < std::min(steps, graph.steps.size()); ++s) {
    const Step& step = graph.steps[s];
    const auto* repeat = step.As<RepeatStep>();
    if (repeat && !repeat->count) infinite = true;
    if (step.Is<TakeStep>()) infinite = false;
  }
  return infinite;
}

bool NumbersOn(const Graph& graph) {
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const bool numbers = graph.steps[s].Is<EnumerateStep>();
    if (numbers && HasNoEnd(graph, s)) return true;
  }
  const auto* inputs = InputsOf(graph.source);
  return inputs != nullptr &&
         std::any_of(inputs->begin(), inputs->end(), NumbersOn);
}

All Picks(const Source& source, const Sizes& sizes, size_t bound) {
  if (auto* interleave = source.As<InterleaveSource>())
    return Interleaved(*interleave, sizes, bound);
  if (auto* mixture = source.As<MixtureSource>())
    return Mixed(*mixture, sizes, bound);
  if (source.Is<ZipSource>()) return Zipped(sizes, bound);
  return Concatenated(sizes, bound);
}

}  // namespace feedmill::reference

#include "tests/reference/places.h"

#include <algorithm>
#include <utility>

#include "tests/reference/random_numbers.h"
#include "tests/reference/shuffles.h"

namespace feedmill::reference {

namespace {

std::vector<Position> Taken(const TakeStep& step, std::vector<Position> in) {
  in.resize(std::min(in.size(), static_cast<size_t>(step.count)));
  return in;
}

std::vector<Position> Skipped(const SkipStep& step, std::vector<Position> in) {
  const size_t from = std::min(in.size(), static_cast<size_t>(step.count));
  return {in.begin() + static_cast<ptrdiff_t>(from), in.end()};
}

std::vector<Position> Sharded(const ShardStep& step, std::vector<Position> in) {
  std::vector<Position> out;
  for (size_t j = static_cast<size_t>(step.index); j < in.size();
       j += static_cast<size_t>(step.count))
    out.push_back(in[j]);
  return out;
}

std::vector<Position> Batched(const BatchStep& step, std::vector<Position> in) {
  std::vector<Position> out;
  for (size_t j = 0; j < in.size(); ++j) {
    if (j % static_cast<size_t>(step.size) == 0) out.emplace_back();
    out.back().insert(out.back().end(), in[j].begin(), in[j].end());
  }
  if (step.drop_remainder && !out.empty() &&
      out.back().size() < static_cast<size_t>(step.size))
    out.pop_back();
  return out;
}

}  // namespace

std::vector<Position> PlacesAfter(const Step& step, size_t s,
                                  std::vector<Position> in,
                                  const PlanStep& where) {
  std::vector<Position> out;
  const auto key = [&](uint64_t ordinal) {
    return KeyOf(where.seed, where.iteration, where.pass, where.number,
                 ordinal);
  };
  if (auto* shuffle = step.As<ShuffleStep>(); shuffle && shuffle->block) {
    for (uint64_t index : BlockedIndexes(
             in.size(), static_cast<uint64_t>(*shuffle->block),
             static_cast<uint64_t>(shuffle->window.value_or(8)), key))
      out.push_back(in[index]);
  } else if (ShufflesFiles(step)) {
    for (uint64_t index : FileIndexes(where.file_sizes, key(0)))
      out.push_back(in[index]);
  } else if (shuffle && shuffle->window) {
    for (uint64_t index : WindowedIndexes(
             in.size(), static_cast<uint64_t>(*shuffle->window), where.seed,
             where.iteration, where.pass, where.number, where.ends))
      out.push_back(in[index]);
  } else if (shuffle) {
    for (uint64_t index : ShuffledIndexes(key(0), in.size()))
      out.push_back(in[index]);
  } else if (auto* sample = step.As<WeightedSampleStep>()) {
    for (uint64_t index : WeightedIndexes(*sample, in.size(), key(0), key(1)))
      out.push_back(in[index]);
  } else if (auto* take = step.As<TakeStep>()) {
    out = Taken(*take, std::move(in));
  } else if (auto* skip = step.As<SkipStep>()) {
    out = Skipped(*skip, std::move(in));
  } else if (auto* shard = step.As<ShardStep>()) {
    out = Sharded(*shard, std::move(in));
  } else if (auto* subset = step.As<SubsetStep>()) {
    for (const int64_t index : subset->indices)
      out.push_back(in.at(static_cast<size_t>(index)));
  } else if (step.As<EnumerateStep>()) {
    for (size_t j = 0; j < in.size(); ++j)
      for (Place& place : in[j]) place.numbers[s] = j;
    out = in;
  } else {
    out = Batched(step.Get<BatchStep>(), std::move(in));
  }
  return out;
}

std::optional<size_t> CacheAfter(const Graph& graph, size_t s) {
  for (; s < graph.steps.size(); ++s)
    if (graph.steps[s].As<CacheStep>()) return s;
  return std::nullopt;
}

uint64_t PassOf(const Graph& graph, size_t s, const Place& place) {
  const auto cache = CacheAfter(graph, s);
  return cache ? place.before.at(*cache).pass : place.pass;
}

uint64_t PositionOf(const Graph& graph, size_t s, const Place& place,
                    uint64_t p) {
  const auto cache = CacheAfter(graph, s);
  return cache ? place.before.at(*cache).position : p;
}

std::vector<Position> PastCache(size_t c, std::vector<Position> in,
                                uint64_t pass) {
  for (size_t j = 0; j < in.size(); ++j)
    for (Place& place : in[j])
      place.before[c] = {j, std::exchange(place.pass, pass)};
  return in;
}

uint64_t EpochOf(const Graph& graph, size_t s, uint64_t pass,
                 uint64_t infinite_passes) {
  for (size_t r = 0; r < s; ++r) {
    if (CacheAfter(graph, r) != CacheAfter(graph, s)) continue;
    if (const auto* repeat = graph.steps[r].As<RepeatStep>()) {
      const uint64_t count = repeat->count
                                 ? static_cast<uint64_t>(*repeat->count)
                                 : infinite_passes;
      if (count > 0) pass /= count;
    }
  }
  return pass;
}

bool InPass(const Graph& graph, size_t s) {
  for (size_t r = s; r < graph.steps.size(); ++r) {
    const auto* repeat = graph.steps[r].As<RepeatStep>();
    if (repeat && !repeat->count) return true;
  }
  return false;
}

uint64_t BatchSize(const Graph& graph, size_t client_begin) {
  for (size_t s = 0; s < client_begin; ++s)
    if (const auto* batch = graph.steps[s].As<BatchStep>())
      return static_cast<uint64_t>(batch->size);
  return 0;
}

}  // namespace feedmill::reference

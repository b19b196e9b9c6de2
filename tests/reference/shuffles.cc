#include "tests/reference/shuffles.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace feedmill::reference {

std::vector<uint64_t> WindowedIndexes(uint64_t n, uint64_t window,
                                      uint64_t seed, uint64_t iteration,
                                      uint64_t epoch, uint64_t step,
                                      bool ended) {
  std::vector<uint64_t> out;
  const uint64_t shift = epoch % 2 == 1 ? window / 2 : 0;
  for (uint64_t run = 0, begin = 0; begin < n; ++run) {
    uint64_t end = (run + 1) * window - shift;
    if (end > n && !ended) break;
    end = std::min(end, n);
    const Key key = KeyOf(seed, iteration, epoch, step, run);
    for (uint64_t index : ShuffledIndexes(key, end - begin))
      out.push_back(begin + index);
    begin = end;
  }
  return out;
}

std::vector<uint64_t> BlockedIndexes(uint64_t n, uint64_t block,
                                     uint64_t window,
                                     const std::function<Key(uint64_t)>& key) {
  std::vector<uint64_t> blocks;
  for (uint64_t b : ShuffledIndexes(key(0), n / block))
    for (uint64_t k = 0; k < block; ++k) blocks.push_back(b * block + k);
  for (uint64_t k = blocks.size(); k < n; ++k) blocks.push_back(k);
  std::vector<uint64_t> out;
  for (uint64_t run = 0; out.size() < n; ++run) {
    const uint64_t begin = out.size();
    const uint64_t size = std::min(n - begin, block * window);
    for (uint64_t index : ShuffledIndexes(key(run + 1), size))
      out.push_back(blocks[begin + index]);
  }
  return out;
}

std::vector<uint64_t> FileIndexes(const std::vector<uint64_t>& sizes, Key key) {
  std::vector<uint64_t> out;
  for (uint64_t file : ShuffledIndexes(key, sizes.size())) {
    const uint64_t begin = std::accumulate(
        sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(file),
        uint64_t{0});
    for (uint64_t k = 0; k < sizes[file]; ++k) out.push_back(begin + k);
  }
  return out;
}

std::vector<uint64_t> WeightedIndexes(const WeightedSampleStep& step,
                                      uint64_t n, Key order, Key begin) {
  const auto length = [](double weight, double total) {
    return static_cast<uint64_t>(weight / total * 0x1p62);
  };
  // Element and length of each interval.
  std::vector<std::pair<uint64_t, uint64_t>> intervals;
  if (step.classes.empty()) {
    double total = 0;
    for (const double weight : step.weights) total += weight;
    for (uint64_t e = 0; e < n; ++e)
      intervals.emplace_back(e, length(step.weights.at(e), total));
  } else {
    const int64_t last =
        *std::max_element(step.classes.begin(), step.classes.end());
    const auto weight = [&](int64_t c) {
      if (std::count(step.classes.begin(), step.classes.end(), c) == 0)
        return 0.0;
      return step.weights.empty() ? 1.0 : step.weights.at(uint64_t(c));
    };
    double total = 0;
    for (int64_t c = 0; c <= last; ++c) total += weight(c);
    for (int64_t c = 0; c <= last; ++c) {
      std::vector<uint64_t> members;
      for (uint64_t e = 0; e < n; ++e)
        if (step.classes.at(e) == c) members.push_back(e);
      for (const uint64_t e : members)
        intervals.emplace_back(e, length(weight(c), total) / members.size());
    }
  }
  const uint64_t count = step.count ? uint64_t(*step.count) : n;
  if (count == 0) return {};
  if (step.distinct) {
    // The longest interval has a point of its own while it is longer than the
    // mean distance of the points that are left.
    std::vector<uint64_t> lengths;
    for (const auto& [e, size] : intervals) lengths.push_back(size);
    std::sort(lengths.begin(), lengths.end());
    uint64_t points = count;
    const auto mean = [&] {
      return std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}) /
             points;
    };
    for (; points > 1 && lengths.back() > mean(); --points) lengths.pop_back();
    const uint64_t most = mean();
    for (auto& [e, size] : intervals) size = std::min(size, most);
  }
  uint64_t total = 0;
  for (const auto& [e, size] : intervals) total += size;
  const uint64_t distance = total / count;
  const auto words = Words(begin, 0, 0);
  const auto draw = (static_cast<unsigned __int128>(words[1]) << 32) | words[0];
  uint64_t point = uint64_t(draw * distance >> 64);
  std::vector<uint64_t> chosen;
  uint64_t end = 0;
  for (const auto& [e, size] : intervals) {
    end += size;
    for (; point < end && chosen.size() < count; point += distance)
      chosen.push_back(e);
  }
  std::vector<uint64_t> out;
  for (const uint64_t k : ShuffledIndexes(order, count))
    out.push_back(chosen.at(k));
  return out;
}

bool ShufflesFiles(const Step& step) {
  const auto* shuffle = step.As<ShuffleStep>();
  return shuffle && shuffle->files;
}

bool NeedsPlaces(const Step& step) {
  return step.Is<TakeStep>() || step.Is<SkipStep>() || step.Is<BatchStep>() ||
         step.Is<ShardStep>() || step.Is<SubsetStep>() ||
         step.Is<EnumerateStep>() ||
         (step.Is<ShuffleStep>() && !ShufflesAll(step) && !ShufflesFiles(step));
}

bool SeesSequence(const Step& step) {
  return step.Is<UnbatchStep>() || step.Is<RebatchStep>() ||
         step.Is<FlatMapStep>() || step.Is<WindowStep>() ||
         step.Is<BucketBySequenceLengthStep>() || step.Is<TokenBatchStep>() ||
         step.Is<PackStep>();
}

bool ShufflesAll(const Step& step) {
  const auto* shuffle = step.As<ShuffleStep>();
  if (step.Is<WeightedSampleStep>()) return true;
  return shuffle && !shuffle->files && (!shuffle->window || shuffle->block);
}

}  // namespace feedmill::reference

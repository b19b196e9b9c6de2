#include "tests/reference/shuffles.h"

#include <algorithm>
#include <numeric>

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
  return shuffle && !shuffle->files && (!shuffle->window || shuffle->block);
}

}  // namespace feedmill::reference

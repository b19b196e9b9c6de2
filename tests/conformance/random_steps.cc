#include "tests/conformance/random_steps.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/registry.h"

namespace feedmill::testing {
namespace {

using Random = std::mt19937_64;

std::vector<Padding> RandomPadding(Random& random) {
  switch (Below(random, 5)) {
    case 0:
      return {{"x", Shape{9}, 1}};
    case 1:
      return {{"x", Shape{kUnknownDim, 3}, 0}};
    case 2:
      return {{"x", std::nullopt, 1}};
    default:
      return {};
  }
}

int64_t Small(Random& random, uint64_t most) {
  return static_cast<int64_t>(1 + Below(random, most));
}

}  // namespace

Step RandomSequenceStep(Random& random) {
  const bool drop = Below(random, 3) == 0;
  switch (Below(random, 14)) {
    case 11:
    case 12: {
      CacheStep cache;
      switch (Below(random, 3)) {
        case 0:  // so small that most elements are computed again
          cache.memory_bytes = Small(random, 20'000);
          break;
        case 1:
          cache.path = "kept";
          break;
        default:
          break;
      }
      return MakeStep(cache);
    }
    case 9: {
      ShuffleStep shuffle;
      if (Below(random, 3) == 0) {
        shuffle.files = true;
        return MakeStep(shuffle);
      }
      shuffle.block = Small(random, 7);
      if (Below(random, 3) != 0) shuffle.window = Small(random, 4);
      return MakeStep(shuffle);
    }
    case 10: {
      OnErrorStep on_error;
      if (Below(random, 4) != 0) on_error.policy = OnErrorStep::Policy::kSkip;
      return MakeStep(on_error);
    }
    case 0:
      return MakeStep(ShardStep{3, static_cast<int64_t>(Below(random, 3))});
    case 1:
      return MakeStep(
          EnumerateStep{"index", static_cast<int64_t>(Below(random, 5)) - 2});
    case 2: {
      ShuffleStep shuffle;
      shuffle.window = Small(random, 20);
      return MakeStep(shuffle);
    }
    case 3:
      return MakeStep(BatchStep{Small(random, 5), drop, BatchLayout::kPadded,
                                RandomPadding(random)});
    case 4:
      return MakeStep(
          BatchStep{Small(random, 5), drop, BatchLayout::kRagged, {}});
    case 5:
      return MakeStep(UnbatchStep{});
    case 6:
      return MakeStep(RebatchStep{Small(random, 5), drop});
    case 7:
      return MakeStep(WindowStep{Small(random, 4),
                                 static_cast<int64_t>(Below(random, 4)),
                                 Small(random, 3), drop});
    case 8: {
      if (Below(random, 2) == 0) {
        BucketBySequenceLengthStep buckets{
            Below(random, 4) == 0 ? "label" : "x",
            {2, 5},
            {Small(random, 4), 2, Small(random, 3)},
            drop,
            RandomPadding(random)};
        if (Below(random, 2) == 0) {
          using LastRound = BucketBySequenceLengthStep::LastRound;
          buckets.ranks = Small(random, 3);
          buckets.last_round =
              Below(random, 2) == 0 ? LastRound::kDrop : LastRound::kRepeat;
        }
        return MakeStep(buckets);
      }
      TokenBatchStep tokens;
      tokens.component = Below(random, 4) == 0 ? "label" : "x";
      tokens.tokens = 4 + Small(random, 20);
      tokens.drop_remainder = drop;
      if (Below(random, 2) == 0) {
        tokens.layout = BatchLayout::kRagged;
      } else {
        tokens.padding = RandomPadding(random);
      }
      return MakeStep(tokens);
    }
    default: {
      PackStep pack;
      pack.length = 3 + Small(random, 12);
      pack.method = static_cast<PackStep::Method>(Below(random, 3));
      pack.padding = {
          {"x", std::nullopt, static_cast<double>(Below(random, 2))}};
      if (pack.method == PackStep::Method::kConcatenate) return MakeStep(pack);
      pack.longer = static_cast<PackStep::Longer>(Below(random, 3));
      if (Below(random, 3) == 0) pack.sequences = Small(random, 4);
      if (Below(random, 3) == 0) pack.align = Small(random, 3);
      if (pack.method == PackStep::Method::kFirstFit) {
        pack.bins = Small(random, 3);
      } else {
        pack.window = Small(random, 6);
      }
      return MakeStep(pack);
    }
  }
}

}  // namespace feedmill::testing

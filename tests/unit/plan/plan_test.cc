#include "core/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "core/dataset/graph_text.h"
#include "core/plan/permutation.h"
#include "feedmill/dataset.h"
#include "tests/unit/dataset/fake_functions.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 7;
constexpr uint64_t kIteration = 3;

absl::StatusOr<std::shared_ptr<const Plan>> TryPlan(const Dataset& dataset,
                                                    uint64_t source_size) {
  auto graph = Analyze(dataset.graph(), testing::FakeFunctions());
  if (!graph.ok()) return graph.status();
  return Plan::Make(*graph, source_size, kSeed, kIteration);
}

std::shared_ptr<const Plan> MakePlan(const Dataset& dataset,
                                     uint64_t source_size) {
  auto plan = TryPlan(dataset, source_size);
  EXPECT_TRUE(plan.ok()) << ErrorText(plan.status());
  return *plan;
}

std::vector<uint64_t> Indexes(const Plan& plan, uint64_t begin, uint64_t end) {
  std::vector<RecordRef> records;
  plan.Records(begin, end, records);
  std::vector<uint64_t> out;
  for (const RecordRef& record : records) out.push_back(record.index);
  return out;
}

// ---- plans written by hand

TEST(PlanTest, ARangeIsItself) {
  const auto plan = MakePlan(Dataset::Range(5), 5);
  EXPECT_EQ(plan->size(), 5u);
  EXPECT_THAT(Indexes(*plan, 1, 4), ElementsAre(1, 2, 3));
  EXPECT_EQ(plan->RecordsAt(2), 1u);
  EXPECT_EQ(plan->CounterOf(3, 0), 3u);
}

TEST(PlanTest, AWeightedSampleHasExactSharesInEachPass) {
  const auto plan =
      MakePlan(Dataset::Range(4)
                   .WeightedSample({.weights = {2, 0, 1, 1}, .count = 8})
                   .Repeat(3)
                   .Batch(8),
               4);
  ASSERT_EQ(plan->size(), 3u);
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t pass = 0; pass < 3; ++pass) {
    std::vector<uint64_t> found = Indexes(*plan, pass, pass + 1);
    orders.insert(found);
    std::ranges::sort(found);
    EXPECT_THAT(found, ElementsAre(0, 0, 0, 0, 2, 2, 3, 3));
    EXPECT_EQ(plan->PassAt(pass), pass);
  }
  EXPECT_GT(orders.size(), 1u);
}

TEST(PlanTest, AWeightedSampleOfEqualWeightsIsWhole) {
  const auto plan =
      MakePlan(Dataset::Range(7).WeightedSample(
                   {.weights = std::vector<double>(7, 0.3), .distinct = true}),
               7);
  auto found = Indexes(*plan, 0, 7);
  std::ranges::sort(found);
  EXPECT_THAT(found, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  for (uint64_t p = 0; p < 7; ++p) {
    EXPECT_EQ(plan->Record(p, 0).index, Indexes(*plan, p, p + 1).at(0));
  }
}

TEST(PlanTest, WeightsFitTheNumberOfElements) {
  const auto error = [](const Dataset& dataset) {
    return ErrorText(TryPlan(dataset, 4).status());
  };
  const Dataset range = Dataset::Range(4);
  EXPECT_THAT(error(range.WeightedSample({.weights = {1, 2}})),
              HasSubstr("there are 2 weights, and 4 elements"));
  EXPECT_THAT(error(range.WeightedSample({.classes = {0, 0, 1}})),
              HasSubstr("there are 3 classes, and 4 elements"));
  EXPECT_THAT(error(range.WeightedSample({.weights = {0, 0, 0, 0}})),
              HasSubstr("all weights are 0"));
  EXPECT_THAT(error(range.WeightedSample(
                  {.weights = {1, 0, 0, 1}, .count = 3, .distinct = true})),
              HasSubstr("2 elements have a weight above 0"));
  EXPECT_THAT(error(range.Repeat().WeightedSample({.weights = {1}})),
              HasSubstr("is infinite"));
}

TEST(PlanTest, ABatchAfterRepeatCrossesPasses) {
  const auto plan = MakePlan(Dataset::Range(5).Repeat(2).Batch(4), 5);
  EXPECT_EQ(plan->size(), 3u);
  std::vector<RecordRef> records;
  plan->Records(1, 3, records);
  EXPECT_THAT(records,
              ElementsAre(RecordRef{4, 0}, RecordRef{0, 1}, RecordRef{1, 1},
                          RecordRef{2, 1}, RecordRef{3, 1}, RecordRef{4, 1}));
  EXPECT_EQ(plan->RecordsAt(2), 2u);
  EXPECT_EQ(plan->CounterOf(2, 1), 9u);
}

TEST(PlanTest, ARepeatAfterBatchEndsEachPassWithItsShortBatch) {
  const auto plan = MakePlan(Dataset::Range(5).Batch(4).Repeat(2), 5);
  EXPECT_EQ(plan->size(), 4u);
  EXPECT_EQ(plan->RecordsAt(1), 1u);
  EXPECT_EQ(plan->RecordsAt(2), 4u);
  EXPECT_EQ(plan->PassAt(1), 0u);
  EXPECT_EQ(plan->PassAt(2), 1u);
  const auto whole = MakePlan(
      Dataset::Range(5).Batch(4, {.drop_remainder = true}).Repeat(2), 5);
  EXPECT_EQ(whole->size(), 2u);
}

TEST(PlanTest, EachPassAndEachIterationHasItsOwnShuffle) {
  const Dataset dataset = Dataset::Range(50).Shuffle().Repeat();
  const auto plan = MakePlan(dataset, 50);
  EXPECT_EQ(plan->size(), kInfinite);
  std::vector<uint64_t> first = Indexes(*plan, 0, 50);
  std::vector<uint64_t> second = Indexes(*plan, 50, 100);
  EXPECT_NE(first, second);
  auto other = Plan::Make(*Analyze(dataset.graph(), testing::FakeFunctions()),
                          50, kSeed, kIteration + 1);
  EXPECT_NE(Indexes(**other, 0, 50), first);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(PlanTest, AShufflesOwnSeedReplacesThePipelines) {
  const auto own = MakePlan(Dataset::Range(50).Shuffle(8), 50);
  const RandomKey key = MakeRandomKey(8, kIteration, 0, 0, 0);
  EXPECT_EQ(own->Record(4, 0).index, Permutation(key, 50).At(4));
  EXPECT_EQ(own->KeyOf(0, 0, 0).low, key.low);
}

TEST(PlanTest, APassIsReachedWithItsFirstRecord) {
  const auto passes = [](const Dataset& dataset) {
    const auto plan = MakePlan(dataset, 5);
    std::vector<uint64_t> reached;
    for (uint64_t p = 0; p < std::min<uint64_t>(plan->size(), 6); ++p) {
      reached.push_back(plan->ReachedPass(p));
    }
    return reached;
  };
  const Dataset five = Dataset::Range(5);
  EXPECT_THAT(passes(five.Shuffle().Repeat(2).Batch(4)), ElementsAre(0, 1, 1));
  EXPECT_THAT(passes(five.Batch(4).Repeat(2)), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(passes(five.Repeat(2).Repeat(2).Batch(5)),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(passes(five.Repeat().Skip(4)), ElementsAre(0, 1, 1, 1, 1, 1));
  // A shuffle joins the passes before it into one sequence.
  EXPECT_THAT(passes(five.Repeat(2).Shuffle().Repeat(2).Batch(9)),
              ElementsAre(0, 1, 1));
  const auto far = MakePlan(five.Repeat(), 5);
  EXPECT_EQ(far->ReachedPassEnd(uint64_t{1} << 40), (uint64_t{1} << 40) + 4);
  EXPECT_EQ(MakePlan(five, 5)->ReachedPassEnd(1), 5);
}

TEST(PlanTest, FarPositionsOfAnInfinitePlanExist) {
  const auto plan = MakePlan(Dataset::Range(10).Skip(3).Repeat(), 10);
  const uint64_t p = uint64_t{7} << 50;
  EXPECT_EQ(plan->Record(p + 2, 0), (RecordRef{5, uint64_t{1} << 50}));
}

TEST(PlanTest, EpochsLeaveOutTheRepeatsBeforeAStep) {
  const auto plan =
      MakePlan(Dataset::Range(2).Shuffle().Repeat(3).Shuffle().Repeat(4), 2);
  const uint64_t pass = 2 + 3 * 1;  // inner pass 2 of outer pass 1
  EXPECT_EQ(plan->EpochOf(0, pass), 5u);
  EXPECT_EQ(plan->EpochOf(2, pass), 1u);
  EXPECT_EQ(plan->PassAt(plan->size() - 1) / 3, 3u);
}

TEST(PlanTest, ClientRepeatsRunThePlanAgainAndSayHowLongAPassIs) {
  const Dataset dataset = Dataset::Range(10)
                              .Filter([](Expr x) { return x > 3; })
                              .Take(2)
                              .Repeat(3)
                              .Batch(4)
                              .Repeat(2);
  const auto plan = MakePlan(dataset, 10);
  EXPECT_EQ(plan->size(), 60u);
  EXPECT_EQ(plan->PassLength(1), 10u);
  EXPECT_EQ(plan->PassLength(3), 30u);
  EXPECT_EQ(plan->PassLength(4), 0u);
  EXPECT_EQ(plan->EpochOf(1, plan->PassAt(59)), 5u);
  EXPECT_EQ(plan->EpochOf(3, plan->PassAt(59)), 1u);
}

TEST(PlanTest, NothingRepeatedWithoutEndIsNothing) {
  EXPECT_EQ(MakePlan(Dataset::Range(0).Repeat(), 0)->size(), 0u);
  EXPECT_EQ(MakePlan(Dataset::Range(9).Take(0).Repeat(), 9)->size(), 0u);
  EXPECT_EQ(MakePlan(Dataset::Range(9).Repeat(0), 9)->size(), 0u);
  EXPECT_EQ(MakePlan(Dataset::Range(9).Skip(20).Batch(2), 9)->size(), 0u);
}

TEST(PlanTest, RefusesWhatCannotBeCounted) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  auto plan = TryPlan(Dataset::Range(10).Repeat(kHuge), 10);
  EXPECT_THAT(ErrorText(plan.status()),
              HasSubstr("steps[0] repeat: more than 2^63 positions"));
  plan =
      TryPlan(Dataset::Range(9).Repeat(kHuge / 9).Take(5).Repeat(kHuge / 9), 9);
  EXPECT_THAT(ErrorText(plan.status()), HasSubstr("more than 2^63 passes"));
  EXPECT_FALSE(TryPlan(Dataset::Range(1), (uint64_t{1} << 63) + 1).ok());
  EXPECT_TRUE(TryPlan(Dataset::Range(1), uint64_t{1} << 63).ok());
}

// ---- plans against lists

// A record in the naive evaluator. `epochs[s]`: number of times that step s had
// begun when the record passed it.
struct NaiveRecord {
  uint64_t index = 0;
  uint64_t pass = 0;
  std::vector<uint64_t> epochs;
};
using NaivePosition = std::vector<NaiveRecord>;

// passes of an infinite repeat in lists
constexpr uint64_t kInfinitePasses = 80;

// Runs the plan steps on whole lists, step by step and pass by pass.
class NaiveEvaluator {
 public:
  NaiveEvaluator(const AnalyzedGraph& graph, uint64_t n)
      : graph_(graph), n_(n) {}

  std::vector<NaivePosition> Run() {
    return First(graph_.graph.steps.size(), 0);
  }

 private:
  std::vector<NaivePosition> First(size_t k, uint64_t pass) {
    std::vector<NaivePosition> out;
    if (k == 0) {
      for (uint64_t r = 0; r < n_; ++r) {
        out.push_back(
            {{r, pass, std::vector<uint64_t>(graph_.graph.steps.size())}});
      }
      return out;
    }
    const size_t s = k - 1;
    const Step& step = graph_.graph.steps[s];
    if (const auto* repeat = step.As<RepeatStep>()) {
      const uint64_t count = repeat->count
                                 ? static_cast<uint64_t>(*repeat->count)
                                 : kInfinitePasses;
      for (uint64_t j = 0; j < count; ++j) {
        for (auto& p : First(s, pass * count + j)) out.push_back(std::move(p));
      }
      return out;
    }
    out = First(s, pass);
    for (auto& position : out) {
      for (auto& record : position) record.epochs[s] = pass;
    }
    if (graph_.steps[s].placement != Placement::kPlan) return out;
    if (const auto* take = step.As<TakeStep>()) {
      if (out.size() > static_cast<size_t>(take->count)) {
        out.resize(static_cast<size_t>(take->count));
      }
    } else if (const auto* skip = step.As<SkipStep>()) {
      const auto size = static_cast<int64_t>(out.size());
      out.erase(out.begin(), out.begin() + std::min(skip->count, size));
    } else if (const auto* batch = step.As<BatchStep>()) {
      out = Batched(out, *batch);
    } else if (const auto* shard = step.As<ShardStep>()) {
      std::vector<NaivePosition> kept;
      for (size_t j = 0; j < out.size(); ++j) {
        if (static_cast<int64_t>(j) % shard->count == shard->index) {
          kept.push_back(out[j]);
        }
      }
      out = kept;
    } else if (const auto* window = step.As<ShuffleStep>();
               window != nullptr && window->window) {
      out = InRuns(out, static_cast<uint64_t>(*window->window), pass, s);
    } else if (const auto* shuffle = step.As<ShuffleStep>()) {
      const Permutation permutation(
          MakeRandomKey(shuffle->seed.value_or(kSeed), kIteration, pass, s, 0),
          out.size());
      const std::vector<NaivePosition> in = out;
      for (size_t j = 0; j < in.size(); ++j) out[j] = in[permutation.At(j)];
    }
    return out;
  }

  std::vector<NaivePosition> InRuns(const std::vector<NaivePosition>& in,
                                    uint64_t window, uint64_t epoch,
                                    size_t s) const {
    bool infinite = false;
    for (size_t r = 0; r < s; ++r) {
      const Step& step = graph_.graph.steps[r];
      const auto* repeat = step.As<RepeatStep>();
      infinite = (infinite || (repeat != nullptr && !repeat->count)) &&
                 !step.Is<TakeStep>();
    }
    std::vector<NaivePosition> out;
    uint64_t end = epoch % 2 == 1 ? window - window / 2 : window;
    for (uint64_t run = 0; out.size() < in.size(); ++run, end += window) {
      if (end > in.size() && infinite) break;  // the window is longer
      const uint64_t begin = out.size();
      const Permutation permutation(
          MakeRandomKey(kSeed, kIteration, epoch, s, run),
          std::min<uint64_t>(end, in.size()) - begin);
      for (uint64_t j = 0; j < permutation.size(); ++j) {
        out.push_back(in[begin + permutation.At(j)]);
      }
    }
    return out;
  }

  static std::vector<NaivePosition> Batched(
      const std::vector<NaivePosition>& in, const BatchStep& batch) {
    std::vector<NaivePosition> out;
    NaivePosition open;
    for (const NaivePosition& position : in) {
      open.push_back(position[0]);
      if (open.size() == static_cast<size_t>(batch.size)) {
        out.push_back(std::move(open));
        open.clear();
      }
    }
    if (!open.empty() && !batch.drop_remainder) out.push_back(open);
    return out;
  }

  const AnalyzedGraph& graph_;
  const uint64_t n_;
};

Dataset RandomChain(std::mt19937_64& random, int64_t n) {
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  Dataset dataset = Dataset::Range(n);
  const int64_t steps = below(7);
  for (int64_t s = 0; s < steps; ++s) {
    switch (below(11)) {
      case 0:
      case 1:
        dataset = dataset.Shuffle();
        break;
      case 9:
        dataset = dataset.ShuffleWindow(1 + below(6));
        break;
      case 10: {
        const int64_t count = 1 + below(3);
        dataset = dataset.Shard(count, below(count));
        break;
      }
      case 2:
        dataset = dataset.Repeat(below(4));
        break;
      case 3:
        dataset = below(3) == 0 ? dataset.Repeat() : dataset.Repeat(2);
        break;
      case 4:
        dataset = dataset.Take(below(40));
        break;
      case 5:
        dataset = dataset.Skip(below(10));
        break;
      case 6:
        dataset = dataset.Batch(1 + below(7), {below(2) == 0});
        break;
      case 7:
        dataset = dataset.Map([](Expr x) { return x + 1; });
        break;
      case 8:
        if (dataset.graph().steps.empty() || below(3) == 0) {
          dataset = dataset.Filter([](Expr x) { return x > 1; });
        }
        break;
    }
  }
  return dataset;
}

// Compares, for each position's last record, the combined pass of the repeats
// after the last shuffle.
void ExpectPasses(const Plan& plan,
                  const std::vector<NaivePosition>& expected) {
  const std::vector<Step>& steps = plan.graph().graph.steps;
  size_t from = steps.size();
  while (from > 0 && !steps[from - 1].Is<ShuffleStep>()) {
    --from;
  }
  std::vector<uint64_t> passes;
  for (const NaivePosition& records : expected) {
    passes.push_back(plan.EpochOf(from, records.back().pass));
  }
  for (uint64_t p = 0; p < passes.size(); ++p) {
    ASSERT_EQ(plan.ReachedPass(p), passes[p]) << "position " << p;
    ASSERT_TRUE(plan.has_passes() || passes[p] == 0);
    uint64_t end = p;
    while (end < passes.size() && passes[end] == passes[p]) ++end;
    const bool known = end < passes.size() || plan.size() != kInfinite;
    ASSERT_GE(plan.ReachedPassEnd(p), end) << "position " << p;
    ASSERT_TRUE(!known || plan.ReachedPassEnd(p) == end) << "position " << p;
  }
}

void ExpectSamePlan(const Plan& plan, std::vector<NaivePosition> expected) {
  if (plan.size() == kInfinite) {
    if (expected.size() < 8) return;  // 80 passes make too few elements
    expected.resize(std::min<size_t>(expected.size() - 7, 60));
  } else {
    ASSERT_EQ(plan.size(), expected.size());
  }
  ExpectPasses(plan, expected);
  std::vector<RecordRef> all;
  for (uint64_t p = 0; p < expected.size(); ++p) {
    ASSERT_EQ(plan.RecordsAt(p), expected[p].size()) << "position " << p;
    ASSERT_EQ(plan.PassAt(p), expected[p][0].pass);
    for (uint64_t k = 0; k < expected[p].size(); ++k) {
      const NaiveRecord& want = expected[p][k];
      const RecordRef got = plan.Record(p, k);
      ASSERT_EQ(got, (RecordRef{want.index, want.pass})) << p << " " << k;
      all.push_back(got);
      for (size_t s = 0; s < plan.graph().steps.size(); ++s) {
        if (plan.graph().graph.steps[s].Is<RepeatStep>()) {
          continue;
        }
        ASSERT_EQ(plan.EpochOf(s, got.pass), want.epochs[s]) << "step " << s;
      }
    }
  }
  std::vector<RecordRef> bulk;
  const uint64_t middle = expected.size() / 3;
  plan.Records(0, middle, bulk);
  plan.Records(middle, expected.size(), bulk);
  ASSERT_EQ(bulk, all);
  uint64_t before = 0;  // records of the positions before p
  for (uint64_t p = 0; p < expected.size(); before += expected[p++].size()) {
    const RecordRun run = plan.RunAt(p, expected.size());
    ASSERT_LE(run.count, all.size() - before);
    for (uint64_t k = 0; k < run.count; ++k) {
      ASSERT_EQ(all[before + k],
                (RecordRef{run.first.index + k, run.first.pass}))
          << "position " << p << ", record " << k;
    }
  }
}

TEST(PlanTest, SeesRunsUpToTheEndOfAPass) {
  const auto plan = MakePlan(Dataset::Range(10).Skip(2).Repeat(3).Batch(3), 10);
  EXPECT_EQ(plan->RunAt(0, 2).count, 6u);
  EXPECT_EQ(plan->RunAt(1, 8).count, 5u);  // records 5 to 9
  EXPECT_EQ(plan->RunAt(1, 8).first, (RecordRef{5, 0}));
  EXPECT_EQ(plan->RunAt(7, 8).first, (RecordRef{7, 2}));
  EXPECT_EQ(MakePlan(Dataset::Range(10).Shuffle(), 10)->RunAt(0, 2).count, 0u);
}

TEST(PlanTest, KnowsThePlacesThatEnumerateCounts) {
  const auto plan = MakePlan(
      Dataset::Range(10).Skip(2).Enumerate().Shuffle().Repeat(2).Batch(3), 10);
  for (uint64_t p = 0; p < plan->size(); ++p) {
    for (uint64_t k = 0; k < plan->RecordsAt(p); ++k) {
      EXPECT_EQ(plan->PlaceAt(1, plan->CounterOf(p, k)),
                plan->Record(p, k).index - 2);
    }
  }
  const auto batches = MakePlan(Dataset::Range(10).Batch(3).Enumerate(), 10);
  EXPECT_EQ(batches->PlaceAt(1, batches->CounterOf(2, 0)), 2u);
}

TEST(PlanTest, AgreesWithListsOnRandomChains) {
  std::mt19937_64 random(20);
  int compared = 0, infinite = 0, batched = 0;
  for (int trial = 0; trial < 12000; ++trial) {
    const auto n = static_cast<int64_t>(random() % 13);
    const Dataset dataset = RandomChain(random, n);
    auto plan = TryPlan(dataset, static_cast<uint64_t>(n));
    if (!plan.ok()) continue;  // e.g. a shuffle on the client
    ++compared;
    infinite += (*plan)->size() == kInfinite;
    batched += (*plan)->graph().plan_batches;
    NaiveEvaluator naive((*plan)->graph(), static_cast<uint64_t>(n));
    ExpectSamePlan(**plan, naive.Run());
    if (HasFatalFailure()) {
      FAIL() << "n = " << n << ": " << CanonicalText(dataset.graph());
    }
  }
  EXPECT_GT(compared, 4000);
  EXPECT_GT(infinite, 300);
  EXPECT_GT(batched, 1000);
}

// ---- blocks

TEST(PlanTest, ABlockShuffleMovesBlocksAndMixesThoseThatMeet) {
  const auto plan = MakePlan(Dataset::Range(0).ShuffleBlocks(10, 3), 107);
  const std::vector<uint64_t> order = Indexes(*plan, 0, 107);
  EXPECT_EQ(std::set<uint64_t>(order.begin(), order.end()).size(), 107u);
  for (size_t begin = 0; begin < 90; begin += 30) {  // three whole blocks each
    std::set<uint64_t> blocks;
    for (size_t k = begin; k < begin + 30; ++k) blocks.insert(order[k] / 10);
    EXPECT_EQ(blocks.size(), 3u);
    EXPECT_FALSE(
        std::is_sorted(order.begin() + static_cast<ptrdiff_t>(begin),
                       order.begin() + static_cast<ptrdiff_t>(begin) + 30));
  }
  // The last, shorter block stays in the last run.
  for (uint64_t last = 100; last < 107; ++last) {
    EXPECT_GE(std::find(order.begin(), order.end(), last) - order.begin(), 90);
  }
  for (uint64_t p = 0; p < 107; ++p) {
    EXPECT_EQ(plan->Record(p, 0).index, order[p]);
  }
  for (const uint64_t begin : {1u, 29u, 31u, 95u}) {
    EXPECT_EQ(Indexes(*plan, begin, 107),
              std::vector<uint64_t>(
                  order.begin() + static_cast<ptrdiff_t>(begin), order.end()));
  }
}

TEST(PlanTest, ABlockShuffleIsAnotherInEachEpochAndIsOneBeforeABatch) {
  const auto plan =
      MakePlan(Dataset::Range(0).ShuffleBlocks(4).Repeat(2).Batch(7), 33);
  const std::vector<uint64_t> order = Indexes(*plan, 0, plan->size());
  ASSERT_EQ(order.size(), 66u);
  EXPECT_NE(std::vector<uint64_t>(order.begin(), order.begin() + 33),
            std::vector<uint64_t>(order.begin() + 33, order.end()));
  EXPECT_FALSE(TryPlan(Dataset::Range(0).Repeat().ShuffleBlocks(4), 33).ok());
}

TEST(PlanTest, BehindACacheThePlanHasWhatStandsBeforeItForRecords) {
  const auto plan = MakePlan(
      Dataset::Range(0).Repeat(3).Batch(4).Cache().Skip(1).Repeat(2), 6);
  EXPECT_EQ(plan->size(), 10u);
  EXPECT_EQ(plan->batch_size(), 4u);
  EXPECT_EQ(plan->Record(0, 0), (RecordRef{1, 0}));
  EXPECT_EQ(plan->Record(7, 0), (RecordRef{3, 1}));
  EXPECT_EQ(plan->EpochOf(5, 1), 0u);
  EXPECT_EQ(plan->CounterOf(7, 2), 30u);
}

}  // namespace
}  // namespace feedmill

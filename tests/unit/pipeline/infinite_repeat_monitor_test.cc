// Detection of infinite pipelines without elements.
#include "core/pipeline/infinite_repeat_monitor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/dataset/analysis.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"

namespace feedmill {
namespace {

// A plan over three records, repeated for ever.
std::shared_ptr<const Plan> PlanOf(const std::string& steps) {
  const auto graph = ParseGraphYaml(
      "source: {range: {stop: 3}}\nsteps: [" + steps + ", repeat]\n",
      "test.yaml");
  const auto analyzed = Analyze(graph.value(), BuiltinFunctions());
  return Plan::Make(analyzed.value(), 3, 7, 0).value();
}

TEST(InfiniteRepeatMonitor, TwoEqualPassesWithoutARowAreAnError) {
  const auto plan = PlanOf("{filter: 'x > 5'}");
  InfiniteRepeatMonitor watch(*plan, 0, 0);
  EXPECT_TRUE(watch.Advance({5, 0}, 0, 0).ok());
  EXPECT_EQ(watch.Advance({6, 0}, 0, 0).code(),
            absl::StatusCode::kFailedPrecondition);
}

// The client takes none.
TEST(InfiniteRepeatMonitor, APassThatTakesNoneIsEmpty) {
  const auto plan = PlanOf("{filter: 'x > 0'}, {take: 0}");
  EXPECT_FALSE(InfiniteRepeatMonitor(*plan, 0, 0).Check().ok());
  const auto one = PlanOf("{filter: 'x > 0'}, {take: 1}");
  EXPECT_TRUE(InfiniteRepeatMonitor(*one, 0, 0).Check().ok());
}

TEST(InfiniteRepeatMonitor, PassesThatDifferMayBeEmptyByChance) {
  for (const char* steps :
       {"{filter: 'random.uniform(0.0, 1.0) < 0.05'}",
        "shuffle, {batch: {size: 2}}, {filter: 'sum(x) == 3'}"}) {
    const auto plan = PlanOf(steps);
    InfiniteRepeatMonitor watch(*plan, 0, 0);
    EXPECT_TRUE(watch.Advance({10'000, 0}, 0, 0).ok()) << steps;
    EXPECT_TRUE(watch.AdvanceShared(0, 10'000, 0, 0).ok()) << steps;
    EXPECT_FALSE(watch.Advance({10'000'000, 0}, 0, 0).ok()) << steps;
    EXPECT_FALSE(watch.AdvanceShared(10'000, 10'000'000, 0, 0).ok()) << steps;
  }
}

// A plan over an infinite mixture whose period is ten elements.
std::shared_ptr<const Plan> PlanOfMixture(const std::string& steps) {
  const auto graph = ParseGraphYaml(
      "source: {mixture: {stop: repeat, weights: [1, 1], inputs: [{source: "
      "{range: {stop: 3}}}, "
      "{source: {range: {stop: 4}}}]}}\nsteps: [" +
          steps + "]\n",
      "test.yaml");
  const auto analyzed = Analyze(graph.value(), BuiltinFunctions());
  return Plan::Make(analyzed.value(), kInfinite, 7, 0).value();
}

TEST(InfiniteRepeatMonitor, TwoRoundsOfInputsWithoutEndAreEnough) {
  const auto plan = PlanOfMixture("{filter: 'x > 5'}");
  InfiniteRepeatMonitor watch(*plan, 10, 0);
  EXPECT_TRUE(watch.Advance({19, 0}, 0, 0).ok());
  EXPECT_TRUE(watch.Advance({30, 0}, 1, 1).ok());
  EXPECT_TRUE(watch.Advance({49, 0}, 0, 0).ok());
  EXPECT_EQ(watch.Advance({50, 0}, 0, 0).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(InfiniteRepeatMonitor, ASharerOfThemIsMorePatient) {
  const auto plan = PlanOfMixture("{filter: 'x > 5'}");
  InfiniteRepeatMonitor watch(*plan, 10, 0);
  EXPECT_TRUE(watch.AdvanceShared(0, 100, 0, 0).ok());
  EXPECT_FALSE(watch.AdvanceShared(100, 1'000, 0, 0).ok());
}

TEST(InfiniteRepeatMonitor, WhichElementsMeetDiffersFromRoundToRound) {
  for (const char* steps : {"{batch: {size: 2}}, {filter: 'sum(x) == 3'}",
                            "{shard: {count: 2, index: 1}}, {filter: 'x > 5'}",
                            "{filter: 'x < 5'}, {batch: {size: 2}}, "
                            "{filter: 'sum(x) == 30'}"}) {
    const auto plan = PlanOfMixture(steps);
    InfiniteRepeatMonitor watch(*plan, 10, 0);
    EXPECT_TRUE(watch.Advance({10'000, 0}, 1, 0).ok()) << steps;
    EXPECT_TRUE(watch.Advance({20'000, 0}, 1, 0).ok()) << steps;
    EXPECT_FALSE(watch.Advance({10'000'000, 0}, 1, 0).ok()) << steps;
  }
}

TEST(InfiniteRepeatMonitor, InputsOfWhichNothingIsKnownAreNotMonitored) {
  const auto plan = PlanOfMixture("{filter: 'x > 5'}");
  InfiniteRepeatMonitor watch(*plan, 0, 0);
  EXPECT_TRUE(watch.Check().ok());
  EXPECT_TRUE(watch.Advance({10'000'000, 0}, 0, 0).ok());
}

TEST(InfiniteRepeatMonitor, InputsThatANumberTellsApartAreNotMonitored) {
  const auto plan = PlanOfMixture("enumerate, {filter: 'index > 1000000'}");
  InfiniteRepeatMonitor watch(*plan, 10, 0);
  EXPECT_TRUE(watch.Check().ok());
  EXPECT_TRUE(watch.Advance({100'000'000, 0}, 0, 0).ok());
}

TEST(InfiniteRepeatMonitor, IgnoresPlansThatATakeEnds) {
  const auto plan = PlanOfMixture("{take: 1000}, {filter: 'x > 5'}");
  InfiniteRepeatMonitor watch(*plan, 10, 0);
  EXPECT_TRUE(watch.Advance({1'000, 0}, 0, 0).ok());
}

}  // namespace
}  // namespace feedmill

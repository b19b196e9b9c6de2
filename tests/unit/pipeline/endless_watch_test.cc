// When an endless repeat is said to bring nothing.
#include "core/pipeline/endless_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/ops/builtin_functions.h"

namespace feedmill {
namespace {

// Of three records, again and again.
std::shared_ptr<const Plan> PlanOf(const std::string& steps) {
  const auto graph = ParseGraphYaml(
      "source: {range: {stop: 3}}\nsteps: [" + steps + ", repeat]\n",
      "test.yaml");
  const auto analyzed = Analyze(graph.value(), BuiltinFunctions());
  return Plan::Make(analyzed.value(), 3, 7, 0).value();
}

TEST(EndlessWatch, TwoPassesWithoutARowAreEnoughWherePassesAreAlike) {
  const auto plan = PlanOf("{filter: 'x > 5'}");
  EndlessWatch watch(*plan);
  EXPECT_TRUE(watch.Advance({5, 0}, 0, 0).ok());
  EXPECT_EQ(watch.Advance({6, 0}, 0, 0).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(EndlessWatch, PassesThatDifferMayBeEmptyByChance) {
  for (const char* steps :
       {"{filter: 'random.uniform(0.0, 1.0) < 0.05'}",
        "shuffle, {batch: {size: 2}}, {filter: 'sum(x) == 3'}"}) {
    const auto plan = PlanOf(steps);
    EndlessWatch watch(*plan);
    EXPECT_TRUE(watch.Advance({10'000, 0}, 0, 0).ok()) << steps;
    EXPECT_TRUE(watch.AdvanceShared(0, 10'000, 0, 0).ok()) << steps;
    EXPECT_FALSE(watch.Advance({10'000'000, 0}, 0, 0).ok()) << steps;
    EXPECT_FALSE(watch.AdvanceShared(10'000, 10'000'000, 0, 0).ok()) << steps;
  }
}

}  // namespace
}  // namespace feedmill

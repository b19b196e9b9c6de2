// Numbers of output elements that steps promise, for len() of readers and even
// ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/dataset/graph_text.h"
#include "core/dataset/step_kind.h"
#include "core/operators/registry.h"
#include "feedmill/dataset.h"
#include "tests/unit/operators/example_steps.h"

namespace feedmill {
namespace {

using Count = std::optional<uint64_t>;
constexpr Count kUnknown = std::nullopt;

// A pipeline of one step, and its number of elements for 0, 1, 10 and 12 input
// elements.
struct Case {
  Dataset dataset;
  std::vector<Count> counts;
  const Step& step() const { return dataset.graph().steps[0]; }
};

Count CountOf(const Step& step, uint64_t elements) {
  return step.kind().Count(step.options(), elements);
}

PythonStep PythonOf(PythonStep::Call call) {
  PythonStep step;
  step.function = "AAAA";
  step.python = "3.11";
  step.call = call;
  return step;
}

// Cases of every kind of step that changes or drops elements by a rule of its
// own.
std::vector<Case> Cases() {
  const Dataset in = Dataset::Range(9);
  const std::vector<Count> same{0, 1, 10, 12};
  const std::vector<Count> unknown(4, kUnknown);
  return {
      {in.OnError({}), same},  // Analyze knows that it may skip elements
      {in.Cache(), same},
      {in.Shuffle(), same},
      {in.Enumerate(), same},
      {in.Batch(4), {0, 1, 3, 3}},
      {in.Batch(4, {.drop_remainder = true}), {0, 0, 2, 3}},
      {in.PaddedBatch(4), {0, 1, 3, 3}},
      {in.RaggedBatch(4), {0, 1, 3, 3}},
      {in.Repeat(3), {0, 3, 30, 36}},
      {in.Repeat(0), {0, 0, 0, 0}},
      {in.Repeat(), unknown},  // infinite
      {in.Take(11), {0, 1, 10, 11}},
      {in.Take(0), {0, 0, 0, 0}},
      {in.Skip(9), {0, 0, 1, 3}},
      {in.Subset({0}), {1, 1, 1, 1}},  // an error for 0 elements
      {in.WeightedSample({.weights = {1}}), same},
      {in.WeightedSample({.weights = {1}, .count = 5}), {5, 5, 5, 5}},
      {in.Shard(4, 0), {0, 1, 3, 3}},
      {in.Shard(4, 1), {0, 0, 3, 3}},
      {in.Shard(4, 3), {0, 0, 2, 3}},
  };
}

TEST(StepCount, IsTheNumberOfOutputElementsOrUnknown) {
  for (const Case& one : Cases()) {
    const std::vector<Count> counts{
        CountOf(one.step(), 0), CountOf(one.step(), 1), CountOf(one.step(), 10),
        CountOf(one.step(), 12)};
    EXPECT_EQ(counts, one.counts) << CanonicalText(one.dataset.graph());
  }
}

TEST(StepCount, IsTheInputsForStepsOfSingleElements) {
  std::set<std::string_view> tested;
  for (const Case& one : Cases()) tested.insert(one.step().name());
  for (const Step& step : ExampleSteps()) {
    if (tested.contains(step.name())) continue;
    const StepTraits traits = TraitsOf(step);
    EXPECT_TRUE(traits.needs == StepNeeds::kElement ||
                traits.needs == StepNeeds::kSequence)
        << step.name() << " needs a case";
    const bool keeps = traits.needs == StepNeeds::kElement && !traits.drops;
    EXPECT_EQ(CountOf(step, 10), keeps ? Count(10) : kUnknown) << step.name();
  }
}

TEST(StepCount, IsUnknownForAPythonFilterAlone) {
  for (const auto call :
       {PythonStep::Call::kElement, PythonStep::Call::kBatch}) {
    EXPECT_EQ(CountOf(MakeStep(PythonOf(call)), 10), 10u);
  }
  EXPECT_EQ(CountOf(MakeStep(PythonOf(PythonStep::Call::kFilter)), 10),
            kUnknown);
}

TEST(StepCount, SumsUpOverTheShards) {
  for (uint64_t elements = 0; elements < 20; ++elements) {
    uint64_t sum = 0;
    for (int64_t index = 0; index < 7; ++index) {
      const Dataset part = Dataset::Range(9).Shard(7, index);
      sum += CountOf(part.graph().steps[0], elements).value();
    }
    EXPECT_EQ(sum, elements);
  }
}

TEST(StepCount, IsUnknownIfItHasMoreThan64Bits) {
  const Dataset dataset = Dataset::Range(9).Repeat(3);
  const Step& repeat = dataset.graph().steps[0];
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(CountOf(repeat, kMost / 3), kMost / 3 * 3);
  EXPECT_EQ(CountOf(repeat, kMost / 3 + 1), kUnknown);
}

}  // namespace
}  // namespace feedmill

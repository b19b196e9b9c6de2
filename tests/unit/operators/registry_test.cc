// Every kind of step has all of its parts, and the builder, YAML and the
// canonical text know the same steps.

#include "core/operators/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>
#include <string>

#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/definition/dataset.h"
#include "core/definition/pipeline_text.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// One step of each name, with the C++ builder.
std::vector<Step> BuiltSteps() {
  const Expr x = Expr::Named("x");
  const Dataset all =
      Dataset::Range(9)
          .Map([](const Expr& e) { return e + 1; })
          .Filter([](const Expr& e) { return e > 1; })
          .FlatMap([](const Expr& e) { return e; })
          .ParseExample({{"a", DType::kInt64, {}}})
          .ParseSequenceExample({{{"a", DType::kInt64, {}}}, {}})
          .DecodeImage()
          .Resize(2, 3)
          .RandomFlip()
          .OnError({})
          .Cache()
          .Shuffle()
          .Batch(2)
          .PaddedBatch(2)
          .RaggedBatch(2)
          .Unbatch()
          .Rebatch(2)
          .Window(2)
          .BucketBySequenceLength({.boundaries = {}, .batch_sizes = {2}})
          .TokenBatch({.tokens = 2})
          .Pack({.length = 2})
          .Repeat()
          .Take(2)
          .Skip(2)
          .Shard(2, 0)
          .Enumerate();
  return all.graph().steps;
}

TEST(StepRegistry, HasTheStepsOfTheBuilder) {
  std::set<std::string_view> built;
  for (const Step& step : BuiltSteps()) built.insert(step.name());
  const auto names = StepNames();
  EXPECT_EQ(built, std::set<std::string_view>(names.begin(), names.end()));
}

TEST(StepRegistry, FindsEachStepByItsName) {
  for (const std::string_view name : StepNames()) {
    const StepKind* const kind = FindStepKind(name);
    ASSERT_NE(kind, nullptr) << name;
    EXPECT_EQ(kind->New(name).name(), name);
    EXPECT_FALSE(kind->summary().empty()) << name;
    EXPECT_EQ(&StepKindOfOptions(kind->options_type()), kind);
  }
  EXPECT_EQ(FindStepKind("no_such_step"), nullptr);
}

TEST(StepRegistry, ReadsBackTheCanonicalTextOfEachStep) {
  for (const Step& step : BuiltSteps()) {
    Graph graph;
    graph.source = RangeSource{0, 9, 1};
    graph.steps.push_back(step);
    const auto again = ParseGraphJson(CanonicalText(graph));
    ASSERT_TRUE(again.ok()) << step.name() << ": " << again.status();
    EXPECT_EQ(CanonicalText(*again), CanonicalText(graph));
  }
}

TEST(StepRegistry, DescribesEachFieldOnce) {
  for (const StepKind* const kind : StepKinds()) {
    for (const std::string_view name : kind->names()) {
      const Step step = kind->New(name);
      step.ReadFields([&](const FieldList& fields) {
        std::set<std::string_view> names;
        for (const Field& field : fields) {
          EXPECT_TRUE(names.insert(field.name).second)
              << name << " " << field.name;
          EXPECT_FALSE(field.help.empty()) << name << " " << field.name;
        }
      });
    }
  }
}

TEST(StepRegistry, EachStepRunsSomewhere) {
  for (const Step& step : BuiltSteps()) {
    const StepTraits traits = TraitsOf(step);
    // A step that draws, or acts on records, does so element by element.
    EXPECT_TRUE(!traits.on_records || traits.needs == StepNeeds::kElement)
        << step.name();
  }
}

// docs/steps.md has a heading or a row for each.
TEST(StepRegistry, HasAPageThatNamesEachStepAndField) {
  std::ifstream file(FEEDMILL_SOURCE_DIR "/docs/steps.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const std::string_view name : StepNames()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(name)));
  }
}

// The traits, the text and the description are asked for before the types are
// checked.
TEST(StepRegistry, TakesOptionsThatAreNotCheckedYet) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const Dataset range = Dataset::Range(9);
  for (const Dataset& dataset :
       {range.Window(kLeast, {.shift = kLeast, .stride = kLeast}),
        range.Batch(kLeast), range.Take(kLeast), range.Shard(kLeast, kLeast),
        range.Pack({.length = kLeast, .bins = kLeast}),
        range.TokenBatch({.tokens = kLeast, .layout = BatchLayout::kEqual}),
        range.BucketBySequenceLength(
            {.boundaries = {}, .batch_sizes = {kLeast, kLeast}})}) {
    const Step& step = dataset.graph().steps[0];
    TraitsOf(step);
    DescribeStep(step);
    CanonicalText(dataset.graph());
    EXPECT_EQ(Analyze(dataset.graph(), FunctionRegistry()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << step.name();
  }
}

TEST(Dataset, AppliesAStepByItsName) {
  const auto applied = Dataset::Range(9).Apply(
      "window", {{"size", int64_t{4}}, {"stride", int64_t{2}}});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(CanonicalText(applied->graph()),
            CanonicalText(Dataset::Range(9).Window(4, {.stride = 2}).graph()));
}

TEST(Dataset, SaysWhatIsWrongWithAnAppliedStep) {
  const Dataset range = Dataset::Range(9);
  EXPECT_THAT(range.Apply("windw").status().message(),
              HasSubstr("there is no step \"windw\""));
  EXPECT_THAT(range.Apply("window").status().message(),
              HasSubstr("window needs the option \"size\""));
  EXPECT_THAT(
      range.Apply("window", {{"size", int64_t{1}}, {"sise", int64_t{1}}})
          .status()
          .message(),
      HasSubstr("window has no option \"sise\""));
  EXPECT_THAT(range.Apply("window", {{"size", true}}).status().message(),
              HasSubstr("the option \"size\" has another type"));
}

}  // namespace
}  // namespace feedmill

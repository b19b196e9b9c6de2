// Every kind of step and source has all of its parts, and the YAML of its
// description is right.

#include "core/operators/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/source_types.h"
#include "core/definition/pipeline_text.h"
#include "feedmill/dataset.h"
#include "tests/unit/operators/example_steps.h"

namespace feedmill {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Returns the name of the builder's method: RandomFlip for random_flip.
std::string MethodName(std::string_view name) {
  std::string method;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') {
      method += upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
    }
    upper = c == '_';
  }
  return method;
}

std::string TextOfFile(const std::string& name) {
  std::ifstream file(FEEDMILL_SOURCE_DIR "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Only Python programs make the steps and sources of Python functions.
TEST(StepRegistry, HasAMethodOfTheBuilderForEachStep) {
  const std::string header = TextOfFile("include/feedmill/dataset.h");
  for (const std::string_view name : StepNames()) {
    if (name == "python") continue;
    EXPECT_THAT(header, HasSubstr("  Dataset " + MethodName(name) + "("));
  }
}

TEST(StepRegistry, FindsEachStepByItsName) {
  for (const std::string_view name : StepNames()) {
    const StepKind* const kind = FindStepKind(name);
    ASSERT_NE(kind, nullptr) << name;
    EXPECT_EQ(kind->New(name).name(), name);
    EXPECT_FALSE(kind->description(name).summary.empty()) << name;
    EXPECT_EQ(&StepKindOfOptions(kind->options_type()), kind);
  }
  EXPECT_EQ(FindStepKind("no_such_step"), nullptr);
}

TEST(StepRegistry, ReadsBackTheCanonicalTextOfEachStep) {
  for (const Step& step : ExampleSteps()) {
    Graph graph;
    graph.source = MakeSource(RangeSource{0, 9, 1});
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

TEST(StepRegistry, StepsOnRecordsActOnSingleElements) {
  for (const Step& step : ExampleSteps()) {
    const StepTraits traits = TraitsOf(step);
    // A step on records, or with random numbers, acts element by element.
    EXPECT_TRUE(!traits.on_records || traits.needs == StepNeeds::kElement)
        << step.name();
  }
}

// Traits, text and description are requested before types are checked.
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

TEST(Dataset, ReadsExpressionsOfAppliedStepsFromTexts) {
  const Dataset range = Dataset::Range(9);
  const Expr half = Expr::Named("x") / 2;
  const auto filtered = range.Apply("filter", {{"predicate", "x / 2 > 1"}});
  ASSERT_TRUE(filtered.ok()) << filtered.status();
  EXPECT_EQ(CanonicalText(filtered->graph()),
            CanonicalText(range.Filter(half > 1).graph()));
  const auto mapped = range.Apply("map", {{"outputs", "x / 2"}});
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_EQ(CanonicalText(mapped->graph()),
            CanonicalText(range.Map({{"", half}}).graph()));
}

TEST(Dataset, SaysWhatIsWrongWithAnAppliedStep) {
  const Dataset range = Dataset::Range(9);
  EXPECT_THAT(range.Apply("windw").status().message(),
              HasSubstr("there is no step \"windw\"; did you mean \"window\""));
  EXPECT_THAT(range.Apply("window").status().message(),
              HasSubstr("window needs the option \"size\""));
  EXPECT_THAT(
      range.Apply("window", {{"size", int64_t{1}}, {"sise", int64_t{1}}})
          .status()
          .message(),
      HasSubstr("window has no option \"sise\"; did you mean \"size\""));
  EXPECT_THAT(
      range.Apply("filter", {{"predicate", "x >"}}).status().message(),
      HasSubstr("filter predicate: cannot read the expression \"x >\""));
  EXPECT_THAT(range.Apply("window", {{"size", true}}).status().message(),
              HasSubstr("the option \"size\" has another type"));
}

// ---- sources

// Returns the source of each line of YAML that the descriptions have.
std::vector<Source> ExampleSources() {
  std::vector<Source> sources;
  for (const SourceKind* const kind : SourceKinds()) {
    const std::vector<std::string> forms =
        absl::StrSplit(std::string(kind->description().yaml), '\n');
    for (const std::string& line : forms) {
      const auto graph =
          ParseGraphYaml(fmt::format("source: {{{}}}\n", line), "/data");
      EXPECT_TRUE(graph.ok()) << line << ": " << graph.status();
      if (!graph.ok()) continue;
      EXPECT_EQ(graph->source.name(), kind->name()) << line;
      sources.push_back(graph->source);
    }
  }
  return sources;
}

TEST(SourceRegistry, HasAMethodOfTheBuilderForEachSource) {
  const std::string header =
      absl::AsciiStrToLower(TextOfFile("include/feedmill/dataset.h"));
  for (const std::string_view name : SourceNames()) {
    if (name == "generator") continue;
    const std::string method = absl::AsciiStrToLower(MethodName(name));
    EXPECT_THAT(header, AnyOf(HasSubstr("  static dataset " + method + "("),
                              HasSubstr("  static absl::statusor<dataset> " +
                                        method + "(")));
  }
}

TEST(SourceRegistry, FindsEachSourceByItsName) {
  for (const std::string_view name : SourceNames()) {
    const SourceKind* const kind = FindSourceKind(name);
    ASSERT_NE(kind, nullptr) << name;
    EXPECT_EQ(kind->New().name(), name);
    EXPECT_FALSE(kind->description().summary.empty()) << name;
    EXPECT_EQ(&SourceKindOfOptions(kind->options_type()), kind);
    // A source either reads records or combines inputs.
    EXPECT_NE(kind->format() == nullptr, kind->combiner() == nullptr) << name;
  }
  EXPECT_EQ(FindSourceKind("no_such_source"), nullptr);
}

TEST(SourceRegistry, ReadsBackTheCanonicalTextOfEachSource) {
  for (const Source& source : ExampleSources()) {
    Graph graph;
    graph.source = source;
    const auto again = ParseGraphJson(CanonicalText(graph));
    ASSERT_TRUE(again.ok()) << source.name() << ": " << again.status();
    EXPECT_EQ(CanonicalText(*again), CanonicalText(graph));
  }
}

TEST(SourceRegistry, DescribesEachFieldOnce) {
  for (const SourceKind* const kind : SourceKinds()) {
    kind->New().ReadFields([&](const FieldList& fields) {
      std::set<std::string_view> names;
      for (const Field& field : fields) {
        EXPECT_TRUE(names.insert(field.name).second)
            << kind->name() << " " << field.name;
        EXPECT_FALSE(field.help.empty()) << kind->name() << " " << field.name;
      }
    });
  }
}

TEST(SourceRegistry, HasEachEndingOfFileNamesOnce) {
  std::set<std::string_view> endings;
  for (const SourceKind* const kind : SourceKinds()) {
    for (const std::string_view ending : kind->endings()) {
      EXPECT_TRUE(ending.starts_with('.') || ending.starts_with('/'))
          << kind->name() << " " << ending;
      EXPECT_TRUE(endings.insert(ending).second)
          << kind->name() << " " << ending;
    }
  }
  EXPECT_TRUE(endings.contains(".csv"));
}

TEST(SourceRegistry, TakesOptionsThatAreNotCheckedYet) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const std::vector<std::string> none;
  for (const Dataset& dataset :
       {Dataset::Range(kLeast, 0, 0), Dataset::Text(none),
        Dataset::FixedLength(none, {.record_bytes = kLeast,
                                   .header_bytes = kLeast,
                                   .footer_bytes = kLeast}),
        Dataset::Csv(none, {.delimiter = ""}), Dataset::Zip({}),
        Dataset::Interleave({}, {.cycle_length = kLeast}),
        Dataset::Mixture({}, {-1, 0}),
        Dataset::Mixture({Dataset::Range(1)}, {-1})}) {
    const Source& source = dataset.graph().source;
    PropertiesOf(source);
    DescribeSource(source);
    source.kind().DescribeInput(source.options(), 0);
    CanonicalText(dataset.graph());
    EXPECT_EQ(Analyze(dataset.graph(), FunctionRegistry()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << source.name();
  }
  EXPECT_EQ(Analyze(Graph{}, FunctionRegistry()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace feedmill

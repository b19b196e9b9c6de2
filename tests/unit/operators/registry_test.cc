// Every kind of step and source has all of its parts; the builder, YAML and the
// canonical text know the same kinds.

#include "core/operators/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "core/dataset/analysis.h"
#include "core/dataset/generator_source.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/source_types.h"
#include "core/definition/pipeline_text.h"
#include "feedmill/dataset.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// Returns one step of each name, made with the C++ builder.
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
          .WithColumns({{"a", Expr::Named("x")}})
          .Select({"a"})
          .Drop({"a"})
          .Rename({{"a", "b"}})
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
  std::vector<Step> steps = all.graph().steps;
  PythonStep python;
  python.function = "AAAA";
  python.python = "3.11";
  steps.push_back(MakeStep(std::move(python)));
  return steps;
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
  for (const Step& step : BuiltSteps()) {
    const StepTraits traits = TraitsOf(step);
    // A step on records, or with random numbers, acts element by element.
    EXPECT_TRUE(!traits.on_records || traits.needs == StepNeeds::kElement)
        << step.name();
  }
}

// docs/steps.md has a heading or a row for each step.
TEST(StepRegistry, HasAPageThatNamesEachStepAndField) {
  std::ifstream file(FEEDMILL_SOURCE_DIR "/docs/steps.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const std::string_view name : StepNames()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(name)));
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

// ---- sources

// Returns one source of each name, made with the C++ builder.
std::vector<Source> BuiltSources() {
  const std::vector<std::string> files = {"/f"};
  const std::vector<SourceField> fields = {{"a", DType::kInt64, {}}};
  const std::vector<Dataset> inputs = {Dataset::Range(3), Dataset::Range(4)};
  std::vector<Source> sources;
  for (const Dataset& dataset :
       {Dataset::Range(9), Dataset::TfRecord(files), Dataset::Text(files),
        Dataset::Images(files),
        Dataset::FixedLength(files, {.record_bytes = 3}),
        Dataset::Npy(files, {.fields = fields}),
        Dataset::Jsonl(files, {.fields = fields}),
        Dataset::Csv(files, {.fields = fields, .delimiter = ";"}),
        Dataset::WebDataset(files, {.fields = fields}),
        Dataset::Mds(files, {.fields = fields}), Dataset::Lmdb(files),
        Dataset::ArrayRecord(files),
        Dataset::Parquet(files, {.fields = fields}),
        Dataset::Arrow(files, {.fields = fields}), Dataset::Concatenate(inputs),
        Dataset::Zip(inputs), Dataset::Interleave(inputs, {.block_length = 2}),
        Dataset::Mixture(inputs, {0.7, 0.3})}) {
    sources.push_back(dataset.graph().source);
  }
  GeneratorSource generator;  // only Python programs make it
  generator.function = "AAAA";
  generator.output = {{"a", DType::kInt64, {}}};
  generator.python = "3.11";
  sources.push_back(MakeSource(std::move(generator)));
  return sources;
}

TEST(SourceRegistry, HasTheSourcesOfTheBuilder) {
  std::set<std::string_view> built;
  for (const Source& source : BuiltSources()) built.insert(source.name());
  const auto names = SourceNames();
  EXPECT_EQ(built, std::set<std::string_view>(names.begin(), names.end()));
}

TEST(SourceRegistry, FindsEachSourceByItsName) {
  for (const std::string_view name : SourceNames()) {
    const SourceKind* const kind = FindSourceKind(name);
    ASSERT_NE(kind, nullptr) << name;
    EXPECT_EQ(kind->New().name(), name);
    EXPECT_FALSE(kind->summary().empty()) << name;
    EXPECT_EQ(&SourceKindOfOptions(kind->options_type()), kind);
    // A source either reads records or combines inputs.
    EXPECT_NE(kind->format() == nullptr, kind->combiner() == nullptr) << name;
  }
  EXPECT_EQ(FindSourceKind("no_such_source"), nullptr);
}

TEST(SourceRegistry, ReadsBackTheCanonicalTextOfEachSource) {
  for (const Source& source : BuiltSources()) {
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
      EXPECT_TRUE(ending.starts_with('.')) << kind->name() << " " << ending;
      EXPECT_TRUE(endings.insert(ending).second)
          << kind->name() << " " << ending;
    }
  }
  EXPECT_TRUE(endings.contains(".csv"));
}

TEST(SourceRegistry, HasAPageThatNamesEachSourceAndField) {
  std::ifstream file(FEEDMILL_SOURCE_DIR "/docs/steps.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const SourceKind* const kind : SourceKinds()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(kind->name())));
    kind->New().ReadFields([&](const FieldList& fields) {
      for (const Field& field : fields) {
        EXPECT_THAT(page, HasSubstr(std::string(field.name)));
      }
    });
  }
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

// Parts of a pipeline's file besides its graph, and typical errors of new
// users.
#include "core/definition/pipeline_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/expr_operators.h"
#include "core/dataset/foreign_names.h"
#include "core/dataset/graph_text.h"
#include "core/definition/value.h"
#include "core/operators/registry.h"
#include "feedmill/dataset.h"
#include "tests/unit/dataset/fake_functions.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Pipeline Parsed(const std::string& yaml) {
  auto pipeline = ParsePipelineYaml(yaml, "");
  EXPECT_TRUE(pipeline.ok()) << yaml << pipeline.status();
  return pipeline.ok() ? *std::move(pipeline) : Pipeline();
}

std::string ErrorOf(const std::string& yaml) {
  const auto pipeline = ParsePipelineYaml(yaml, "");
  EXPECT_FALSE(pipeline.ok()) << yaml;
  return ErrorText(pipeline.status());
}

TEST(PipelineText, KnowsTheLinesOfItsParts) {
  const Pipeline pipeline = Parsed(
      "source:\n"
      "  zip:\n"
      "    - source: {range: 3}\n"
      "      steps:\n"
      "        - map: {a: x}\n"
      "    - source:\n"
      "        concatenate:\n"
      "          - source: {range: 3}\n"
      "            steps: [{map: {b: x}}]\n"
      "steps:\n"
      "  - filter: a > 1\n"
      "\n"
      "  - shuffle\n");
  const GraphLines& lines = pipeline.lines;
  EXPECT_THAT(lines.steps, ElementsAre(11, 13));
  ASSERT_EQ(lines.inputs.size(), 2U);
  EXPECT_THAT(lines.inputs[0].steps, ElementsAre(5));
  EXPECT_EQ(lines.Of({{}, 1}), 13);
  EXPECT_EQ(lines.Of({{1, 0}, 0}), 9);
  EXPECT_EQ(lines.Of({{1, 0}, {}}), 8);
  EXPECT_EQ(lines.Of({{}, 7}), lines.source);
}

// Every error of Analyze has a place, and the place has a line.
TEST(PipelineText, HasTheLineOfEachErrorOfTheAnalysis) {
  const std::pair<std::string, int> cases[] = {
      {"source: {range: 3}\nsteps:\n  - map: x\n  - map: {y: lable}\n", 4},
      {"source: {range: 3}\nsteps:\n  - map: nothing(x)\n", 3},
      {"source: {range: 3}\nsteps:\n  - batch: 2\n  - filter: x\n", 4},
      {"source: {range: 3}\nsteps:\n\n  - repeat\n  - shuffle\n", 5},
      {"source: {range: 3}\nsteps:\n  - repeat: -1\n", 3},
      {"source: {range: 3}\nsteps:\n  - cache: {path: k, memory_bytes: 3}\n",
       3},
      {"source:\n  zip:\n    - source: {range: 3}\n      steps:\n"
       "        - map: {a: b}\n",
       5},
      {"steps: [shuffle]\nsource:\n  range: {start: 0, stop: 3, step: 0}\n", 3},
  };
  for (const auto& [yaml, line] : cases) {
    const Pipeline pipeline = Parsed(yaml);
    const auto analyzed = Analyze(pipeline.graph, testing::FakeFunctions());
    ASSERT_FALSE(analyzed.ok()) << yaml;
    const auto place = GraphPlaceOf(analyzed.status());
    ASSERT_TRUE(place.has_value()) << analyzed.status();
    EXPECT_EQ(pipeline.lines.Of(*place), line) << yaml << analyzed.status();
  }
}

TEST(PipelineText, AnswersNamesOfOtherLibraries) {
  const std::pair<std::string, std::string> cases[] = {
      {"steps: [{prefetch: 2}]", "feedmill reads ahead by itself"},
      {"steps: [{prefetch: AUTOTUNE}]", "feedmill reads ahead by itself"},
      {"steps: [{map_batches: x}]", "write `map` after `batch`"},
      {"steps: [{tokenize: x}]", "`tokenize(text, 'tokenizer.json')`"},
      {"steps: [{Normalize: x}]", "`image.normalize(x, [mean, …], [std, …])`"},
      {"steps: [{CenterCrop: 224}]", "`image.central_crop(x, height, width)`"},
      {"steps: [{train_test_split: 0.2}]", "`split: {parts: [0.8, 0.2], part"},
      {"steps: [{interleave: {cycle_length: 2}}]", "it is a source"},
      {"steps: [{shuffle: {buffer_size: 10}}]", "`shuffle: {window: N}`"},
      {"steps: [{shuffle: 1000}]", "`shuffle: {window: N}`"},
      {"steps: [{batch: {size: 2, drop_last: true}}]", "`drop_remainder`"},
      {"steps: [{batch: {batch_size: 2}}]", "`batch: {size: 32}`"},
      {"steps: [{cache: {filename: x}}]", "`cache: kept/`"},
      {"steps: [{decode_image: {num_parallel_calls: 4}}]",
       "`feedmill worker --threads N`"},
      {"options: {num_workers: 4}", "`feedmill worker --threads N`"},
      {"options: {num_epochs: 4}", "`repeat: N`"},
      {"batch_size: 4", "write the step `batch: N`"},
  };
  for (const auto& [yaml, answer] : cases) {
    const std::string error = ErrorOf("source: {range: 3}\n" + yaml);
    EXPECT_THAT(error, HasSubstr(answer)) << yaml;
    EXPECT_THAT(error, Not(HasSubstr("did you mean"))) << yaml;
  }
  EXPECT_THAT(ErrorOf("source:\n  interleave:\n    cycle_length: AUTOTUNE\n"
                      "    inputs: [{source: {range: 3}}]\n"),
              HasSubstr("feedmill sets this value by itself; leave it out"));
  EXPECT_THAT(ErrorOf("source: {range: 3}\nsteps: [{batch: 'big'}]"),
              HasSubstr("found \"big\""));
  EXPECT_THAT(ErrorOf("source: {from_generator: {}}"),
              HasSubstr("elements are read from files"));
}

// ---- texts that a program writes

TEST(YamlText, LeavesOutDefaultsAndIsReadBackAsTheSameGraph) {
  const std::string texts[] = {
      "source: {range: 6}\nsteps:\n  - filter: \"x > 2\"\n  - batch: 2\n",
      "source: {range: {start: 2, stop: 10, step: 3}}\n",
      "source: {text: {files: \"a b.txt\"}}\noptions: {seed: 7, order: any, "
      "processing_mode: \"off\", job: j, even: drop}\n",
      "source: {csv: {files: [a.csv, b.csv], fields: {age: \"int64[?, 2]\"}, "
      "header: false, missing: [\"\", NA]}}\nsteps:\n  - shuffle\n  - cache\n"
      "  - padded_batch: {size: 4, shapes: {age: [\"?\", 3]}, values: {age: "
      "-1.5}}\n  - repeat\n",
      "source: {mixture: {inputs: [{source: {range: 3}, steps: [{take: 2}, "
      "shuffle]}, {source: {range: 9}}], weights: [0.7, 0.3], stop: repeat}}\n"
      "steps:\n  - map: {a: \"x + 1\", \"b c\": \"component('b c')\"}\n",
      "source: {text: {files: \"\\\"\\n\\x07größe007\"}}\n",
  };
  for (const std::string& text : texts) {
    const Pipeline pipeline = Parsed(text);
    EXPECT_EQ(YamlText(pipeline), text);
  }
}

TEST(YamlText, WritesTheCanonicalTextWhereYamlHasNoSpelling) {
  const Graph odd = Dataset::Text({"/a\xff"}).Batch(2).WithSeed(3).graph();
  const std::string text = YamlText({.graph = odd});
  EXPECT_THAT(text, HasSubstr("source: {graph: "));
  EXPECT_EQ(CanonicalText(Parsed(text).graph), CanonicalText(odd));
}

TEST(ShownParts, AreShortAndHaveNoSecrets) {
  const auto parts =
      ShownParts(Parsed("source: {text: 'http://me:key@h/a b?sig=key'}\n"
                        "steps: [shuffle, {filter: 'x == \"" +
                        std::string(500, 'y') + "\"'}]\noptions: {seed: 3}\n"));
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].value, "{files: \"http://h/a%20b?...\"}");
  EXPECT_EQ(parts[1].value, "");
  EXPECT_LT(parts[2].value.size(), 130U);
  EXPECT_EQ(parts[3].place + parts[3].name + parts[3].value, "optionsseed3");
}

TEST(ExprText, HasOnlyTheParenthesesThatAreNeeded) {
  for (const std::string text : {"(a + b) * 2 - 1",
                                 "a - (b - 1)",
                                 "2 ** -a",
                                 "(-a) ** 2",
                                 "-a ** 2",
                                 "a ** b ** c",
                                 "(a ** b) ** c",
                                 "(a < 3) & (b != 'x')",
                                 "~(a == b)",
                                 "(a < b) == (c < d)",
                                 "not a and (b or not c)",
                                 "not (a and b)",
                                 "(a + b)[0]",
                                 "a - -2",
                                 "(-2) ** a",
                                 "-(a + b)",
                                 "a << b + 1",
                                 "(a | b) ^ c & d",
                                 "negative(2)",
                                 "a / (b * c)",
                                 "a / b * c"}) {
    const auto expr = Expr::Parse(text);
    ASSERT_TRUE(expr.ok()) << text;
    EXPECT_EQ(ExprText(*expr), text);
    EXPECT_EQ(Expr::Parse(ExprText(*expr))->ToString(), expr->ToString());
  }
}

// ---- values of a program

Value Plain(const std::string& text) { return Value(text, /*quoted=*/false); }

TEST(WithStep, MakesWhatYamlMakes) {
  auto pipeline = MakePipeline("range", Plain("6"));
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  pipeline = WithStep(*pipeline, "filter", Value("x > 2", true));
  pipeline = WithStep(*pipeline, "shuffle", Value());
  pipeline = WithStep(
      *pipeline, "batch",
      Value(Value::Map{{Value("size", true), Plain("2")},
                       {Value("drop_remainder", true), Plain("true")}}));
  pipeline = WithOptions(*pipeline,
                         Value(Value::Map{{Value("seed", true), Plain("7")}}));
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(YamlText(*pipeline),
            "source: {range: 6}\nsteps:\n  - filter: \"x > 2\"\n  - shuffle\n"
            "  - batch: {size: 2, drop_remainder: true}\noptions: {seed: 7}\n");
}

TEST(WithStep, RefusesWithoutAPlaceInAText) {
  const auto pipeline = MakePipeline("range", Plain("6"));
  EXPECT_EQ(ErrorText(WithStep(*pipeline, "bacth", Plain("3")).status()),
            "steps[0]: there is no step \"bacth\"; did you mean \"batch\"?");
  EXPECT_EQ(ErrorText(WithStep(*pipeline, "batch", Value("3", true)).status()),
            "steps[0] batch: expected an integer, found \"3\"");
}

TEST(MakePipeline, BoundsInputsOfPipelines) {
  absl::StatusOr<Pipeline> nested = MakePipeline("range", Plain("1"));
  for (int depth = 0; depth < 9; ++depth) {
    const Pipeline input = *nested;
    nested =
        MakePipeline("zip", Value(Value::List{Value(input), Value(input)}));
    if (depth == 8) break;
    ASSERT_TRUE(nested.ok()) << depth << nested.status();
  }
  EXPECT_THAT(ErrorText(nested.status()), HasSubstr("more than 8 deep"));
}

TEST(PipelineText, ReadsListsOfNumbersFromFiles) {
  const std::string folder = ::testing::TempDir() + "/numbers";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/weights.csv") << "w\n0.5\n2\n";
  std::ofstream(folder + "/indices.jsonl") << "{\"i\": 1}\n{\"i\": 7}\n";
  const auto pipeline = ParsePipelineYaml(
      "source: {range: 2}\n"
      "steps: [weighted_sample: weights.csv, subset: indices.jsonl]\n",
      folder);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const std::vector<Step>& steps = pipeline->graph.steps;
  EXPECT_THAT(steps[0].Get<WeightedSampleStep>().weights, ElementsAre(0.5, 2));
  EXPECT_THAT(steps[1].Get<SubsetStep>().indices, ElementsAre(1, 7));
  const auto failed = ParsePipelineYaml(
      "source: {range: 2}\nsteps: [subset: weights.csv]\n", folder);
  EXPECT_THAT(ErrorText(failed.status()),
              HasSubstr("line 2, column 17: steps[0] subset: " + folder +
                        "/weights.csv: its values are float64, not integers"));
  EXPECT_THAT(ErrorOf("source: {range: 2}\nsteps: [subset: none.npy]\n"),
              HasSubstr("none.npy"));
}

TEST(ForeignNames, DependOnTheStepAndNotOnTheCase) {
  EXPECT_EQ(AnswerToForeignName("Num-Workers"),
            AnswerToForeignName("num_workers"));
  EXPECT_NE(AnswerToForeignName("buffer_size", "steps[1] shuffle"),
            AnswerToForeignName("buffer_size", "steps[1] cache"));
  EXPECT_EQ(AnswerToForeignName("num"), "");
  EXPECT_EQ(AnswerToForeignName(""), "");
}

TEST(ForeignNames, AreNoNamesOfSteps) {
  for (const std::string& name : ForeignNames()) {
    if (AnswerToForeignName(name).empty()) continue;  // a function, an option
    EXPECT_EQ(FindStepKind(name), nullptr) << name;
  }
}

TEST(ForeignNames, AreNoConstantsOfAMap) {
  for (const std::string step : {"map", "with_columns", "flat_map"}) {
    const Pipeline pipeline = Parsed("source: {range: 3}\nsteps: [{" + step +
                                     ": {y: x, num_parallel_calls: 4}}]");
    EXPECT_THAT(
        ErrorText(Analyze(pipeline.graph, testing::FakeFunctions()).status()),
        HasSubstr("would be a component with the constant 4; all threads"));
  }
  EXPECT_EQ(AnswerToOptionOfMap("prefetch"), "");
}

}  // namespace
}  // namespace feedmill

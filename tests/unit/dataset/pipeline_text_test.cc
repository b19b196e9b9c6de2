// Parts of a pipeline's file besides its graph, and typical errors of new
// users.
#include "core/definition/pipeline_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/definition/foreign_names.h"
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

TEST(ForeignNames, DependOnTheStepAndNotOnTheCase) {
  EXPECT_EQ(AnswerToForeignName("Num-Workers"),
            AnswerToForeignName("num_workers"));
  EXPECT_NE(AnswerToForeignName("buffer_size", "steps[1] shuffle"),
            AnswerToForeignName("buffer_size", "steps[1] cache"));
  EXPECT_EQ(AnswerToForeignName("num"), "");
  EXPECT_EQ(AnswerToForeignName(""), "");
}

}  // namespace
}  // namespace feedmill

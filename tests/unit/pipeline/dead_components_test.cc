// Components that no step needs are not computed, and so cannot fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/analysis.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeadComponents : public ::testing::Test {
 protected:
  struct Read {
    std::vector<std::string> lines;
    absl::Status status;
  };

  Graph Parse(const std::string& yaml) const {
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    EXPECT_TRUE(graph.ok()) << yaml << "\n" << graph.status();
    return graph.ok() ? *graph : Graph();
  }

  // Describes the output of the source and of each step.
  std::vector<std::string> Made(const std::string& yaml) const {
    const auto graph = Analyze(Parse(yaml), *functions_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (!graph.ok()) return {};
    std::vector<std::string> made = {(*graph)->source.spec.ToString()};
    for (const AnalyzedStep& step : (*graph)->steps) {
      made.push_back(step.output->ToString());
    }
    return made;
  }

  Read ReadAll(const std::string& yaml, LocalSequenceOptions options = {},
               size_t limit = SIZE_MAX, ReadPlace* place = nullptr) const {
    Read out;
    const auto reader = LocalReader::Make(Parse(yaml), functions_, options);
    out.status = reader.status();
    size_t unread = 0;
    while (out.status.ok() && out.lines.size() < limit) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      out.status = chunk.status();
      if (!chunk.ok() || !*chunk) break;
      EXPECT_TRUE((*chunk)->Validate().ok()) << (*chunk)->Validate();
      const size_t rows = std::min((*chunk)->rows, limit - out.lines.size());
      for (size_t row = 0; row < rows; ++row) {
        AppendJson(**chunk, row, out.lines.emplace_back());
      }
      unread = (*chunk)->rows - rows;
    }
    if (place != nullptr && reader.ok())
      *place = *(*reader)->sequence().PlaceBefore(unread);
    return out;
  }

  const TestFolder folder_;
  const std::shared_ptr<const FunctionRegistry> functions_ =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
};

constexpr char kCsv[] =
    "source: {csv: {files: a.csv, fields: {a: int64, b: int64, c: bytes}}}\n";

TEST_F(DeadComponents, AreFoundStepByStep) {
  EXPECT_THAT(
      Made(std::string(kCsv) +
           "steps: [{filter: 'b > 1'}, {map: {a: 'a + 1', d: c}}, {map: a}]\n"),
      ElementsAre("{a: int64, b: int64}", "{a: int64}", "{a: int64}", "int64"));
  // If nothing is needed, the first component is kept.
  EXPECT_THAT(Made(std::string(kCsv) + "steps: [{map: '7'}]\n"),
              ElementsAre("{a: int64}", "int64"));
  EXPECT_THAT(Made(std::string(kCsv) +
                   "steps: [{filter: 'b > 1'}, enumerate, {map: index}]\n"),
              ElementsAre("{b: int64}", "{b: int64}",
                          "{index: int64, b: int64}", "int64"));
  // Batches keep components apart; a step that compares lengths needs all.
  EXPECT_THAT(
      Made(std::string(kCsv) +
           "steps: [{map: {a: a, s: \"split(c, ' ')\"}}, {ragged_batch: 2}, "
           "{map: s_offsets}]\n"),
      ElementsAre("{c: bytes}", "{s: bytes[?]}",
                  "{s: bytes[?], s_offsets: int64[?]}", "int64[?]"));
  EXPECT_THAT(
      Made(std::string(kCsv) + "steps: [{batch: 2}, unbatch, {map: a}]\n")[0],
      "{a: int64, b: int64, c: bytes}");
  EXPECT_THAT(Made(std::string(kCsv) + "steps: [cache, {map: a}]\n")[0],
              "{a: int64, b: int64, c: bytes}");
  EXPECT_THAT(
      Made(std::string(kCsv) +
           "steps: [{token_batch: {component: c, tokens: 4}}, {map: a}]\n")[0],
      "{a: int64, c: bytes}");
}

TEST_F(DeadComponents, InInputsFollowFromTheNeedsOfTheWhole) {
  const std::string zip =
      "source:\n  zip:\n"
      "    - {source: {range: 3}, steps: [{map: {a: x, b: '1 // (x - 1)'}}]}\n"
      "    - {source: {range: 3}, steps: [{map: {c: '1 // x', d: x}}]}\n";
  EXPECT_EQ(Made(zip + "steps: [{map: d}]\n")[0], "{a: int64, d: int64}");
  EXPECT_THAT(ReadAll(zip + "steps: [{map: d}]\n").lines,
              ElementsAre("0", "1", "2"));
  // Streams; one of them cannot compute less.
  EXPECT_THAT(
      ReadAll("source:\n  concatenate:\n"
              "    - {source: {range: 3}, steps: [{filter: 'x > 0'}, {map: {a: "
              "'[x]', b: '[1 // (x - 1)]'}}]}\n"
              "    - {source: {range: 3}, steps: [{map: {a: '[x]', b: "
              "'[x]'}}, {filter: 'a[0] > 1'}, cache]}\n"
              "steps: [{map: 'a'}]\n")
          .lines,
      ElementsAre("[1]", "[2]", "[2]"));
}

TEST_F(DeadComponents, AMeasuredComponentKeepsItsNulls) {
  folder_.Write("a.jsonl", "{\"x\": 5, \"y\": 1}\n{\"y\": 2}\n");
  const std::string input =
      "{source: {jsonl: {files: a.jsonl, fields: {x: 'int64?', y: int64}}}}";
  for (const std::string& source :
       {"mixture: {inputs: [" + input + ", " + input +
            "], weights: [1, 1], unit: bytes, component: x}",
        "zip: [" + input + ", {source: {range: 2}, steps: [{map: {z: x}}]}]"}) {
    const std::string yaml = "source: {" + source + "}\nsteps: [{map: " +
                             (source[0] == 'z' ? "z" : "y") + "}]\n";
    const Read read = ReadAll(yaml);
    EXPECT_TRUE(read.status.ok()) << yaml << read.status;
    EXPECT_EQ(read.lines.size(), source[0] == 'z' ? 2U : 4U);
  }
}

TEST_F(DeadComponents, DoNotFail) {
  folder_.Write("a.csv", "c,b,a\none,1,x\ntwo,y,2\n\"three\",3,3\n");
  const std::string jsonl =
      "source: {jsonl: {files: a.jsonl, fields: {a: int64, b: int64}}}\n";
  folder_.Write("a.jsonl", "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": [}\n");
  EXPECT_THAT(ReadAll(std::string(kCsv) + "steps: [{map: c}]\n").lines,
              ElementsAre("\"one\"", "\"two\"", "\"three\""));
  EXPECT_THAT(
      ReadAll(std::string(kCsv) + "steps: [{on_error: skip}, {map: b}]\n")
          .lines,
      ElementsAre("1", "3"));
  EXPECT_THAT(ReadAll(kCsv).lines, IsEmpty());
  // The record itself must be complete.
  const Read json = ReadAll(jsonl + "steps: [{map: a}]\n");
  EXPECT_THAT(json.lines, ElementsAre("1"));
  EXPECT_TRUE(absl::IsDataLoss(json.status)) << json.status;
  folder_.Write("a.csv", "c,b,a\none,1,2\ntwo,2\n");
  const Read csv = ReadAll(std::string(kCsv) + "steps: [{map: c}]\n");
  EXPECT_THAT(csv.lines, ElementsAre("\"one\""));
  EXPECT_THAT(ErrorText(csv.status), HasSubstr("2 columns instead of 3"));
}

TEST_F(DeadComponents, InACsvWithoutHeadersKeepTheirColumns) {
  folder_.Write("a.csv", "1,x,one\n2,y,two\n");
  EXPECT_THAT(
      ReadAll("source: {csv: {files: a.csv, header: false, fields: {f0: int64, "
              "f1: int64, f2: bytes}}}\nsteps: [{map: {f2: f2, f0: f0}}]\n")
          .lines,
      ElementsAre(R"({"f2":"one","f0":1})", R"({"f2":"two","f0":2})"));
}

TEST_F(DeadComponents, UnneededImagesAreNotRead) {
  folder_.Write("3/a.jpg", "no image");
  folder_.Write("4/b.jpg", "nor this");
  EXPECT_THAT(ReadAll("source: {images: '*/*.jpg'}\nsteps: [decode_image, "
                      "{resize: {height: 2, width: 2}}, {map: label}]\n")
                  .lines,
              ElementsAre("3", "4"));
  EXPECT_THAT(
      ReadAll("source: {images: '*/*.jpg'}\nsteps: [{map: {l: label, n: "
              "\"find(path, '.jpg') > 0\"}}]\n")
          .lines,
      ElementsAre(R"({"l":3,"n":true})", R"({"l":4,"n":true})"));
}

TEST_F(DeadComponents, CountAsRandomCallsAllTheSame) {
  const std::string head = "source: {range: 20}\nsteps: [{map: {";
  const std::string drawn = "b: 'random.integers(0, 1000)'}}, {map: b}]\n";
  const std::string seed = "options: {seed: 3}\n";
  EXPECT_EQ(
      ReadAll(head + "a: 'random.uniform() // (x - 3)', " + drawn + seed).lines,
      ReadAll(head +
              "a: 'random.uniform()', b: 'random.integers(0, 1000)'}}, "
              "{filter: 'a >= 0'}, {map: b}]\n" +
              seed)
          .lines);
}

TEST_F(DeadComponents, AMapThatOnlyChoosesIsDoneInLargeBatches) {
  EXPECT_THAT(
      ReadAll("source: {range: 10000}\nsteps: [{map: {a: x, b: '-x'}}, {batch: "
              "5000}, {map: {c: b, d: b}}, {map: {e: 'sum(d)', f: 'c[1]'}}]\n")
          .lines,
      ElementsAre(R"({"e":-12497500,"f":-1})", R"({"e":-37497500,"f":-5001})"));
  EXPECT_THAT(
      ReadAll(
          "source: {range: 10000}\nsteps: [{map: {a: x, b: '-x'}}, "
          "{batch: 5000}, {map: {b: b, a: a}}, {filter: 'b[0] < "
          "0'}, {map: {b: 'slice(b, [0], [2])', a: 'slice(a, [0], [2])'}}]\n")
          .lines,
      ElementsAre(R"({"b":[-5000,-5001],"a":[5000,5001]})"));
}

TEST_F(DeadComponents, AreTakenOutOfATokenThatHasThem) {
  const std::string yaml =
      "source: {range: 20}\nsteps: [{filter: 'x >= 0'}, {map: {a: x, b: "
      "'-x'}}, "
      "{batch: 4}, {map: 'sum(b)'}]\noptions: {seed: 1}\n";
  LocalSequenceOptions options;
  options.piece_bytes = 20;
  ReadPlace place;
  const Read first = ReadAll(yaml, options, 1, &place);
  ASSERT_THAT(first.lines, ElementsAre("-6"));
  // The state that a version without column pruning would have written.
  size_t widened = 0;
  for (StageState::Step& step : place.stage.steps) {
    for (auto& shared : step.held) {
      StageState::Held held = *shared;
      ElementSpec spec = *held.chunk.spec;
      spec.components.insert(spec.components.begin(), {"a", DType::kInt64, {}});
      held.chunk.columns.insert(held.chunk.columns.begin(),
                                held.chunk.columns[0]);
      held.chunk.spec = std::make_shared<const ElementSpec>(std::move(spec));
      shared = std::make_shared<const StageState::Held>(std::move(held));
      ++widened;
    }
  }
  EXPECT_GT(widened, 0u);
  options.resume = {1, 0, place};
  EXPECT_THAT(ReadAll(yaml, options).lines,
              ElementsAre("-22", "-38", "-54", "-70"));
}

}  // namespace
}  // namespace feedmill

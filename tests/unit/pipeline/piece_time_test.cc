// Pieces that end by time, and pieces that end because no reader needs them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/definition/pipeline_text.h"
#include "core/io/read_stop.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/row_pace.h"
#include "core/pipeline/worker_stage.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::atomic<bool> g_stop = false;

// The built-in functions, and slow(x), which returns x. It takes no time, but
// is heavy: its rows are made one by one. slow(5) stops the reading.
std::shared_ptr<const FunctionRegistry> SlowFunctions() {
  FunctionRegistry functions = BuiltinFunctions();
  FunctionRegistry::Function slow;
  slow.infer =
      [](const std::vector<ValueType>& arguments) -> absl::StatusOr<ValueType> {
    return arguments.at(0);
  };
  slow.compute = [](std::span<const Argument> arguments, size_t rows,
                    const ValueType& type, OutputColumn& out) {
    out.Reset(type.dtype, {});
    const auto from = arguments[0].column->values.As<int64_t>();
    for (size_t row = 0; row < rows; ++row) {
      if (from[row] == 5) g_stop = true;
      out.values.Push(from[row]);
    }
    return absl::OkStatus();
  };
  slow.heavy = true;
  functions.Add("slow", std::move(slow));
  return std::make_shared<const FunctionRegistry>(std::move(functions));
}

// The same input, whose component is `name`.
std::string Named(std::string input, const std::string& name) {
  const size_t at = input.find("'slow(");
  return input.insert(at, "{" + name + ": ").insert(input.rfind("}]}"), "}");
}

class PieceTime : public ::testing::Test {
 protected:
  PieceTime() {
    folder_.Write("numbers.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    g_stop = false;
  }

  void Compile(const std::string& yaml) {
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    ASSERT_TRUE(graph.ok()) << yaml << graph.status();
    const auto functions = SlowFunctions();
    const auto analyzed = Analyze(*graph, *functions).value();
    auto manifest =
        std::make_shared<Manifest>(ResolveManifest(*analyzed).value());
    const uint64_t size = SourceSize(*analyzed, *manifest).value();
    plan_ = Plan::Make(analyzed, size, 7, 0).value();
    stage_ = WorkerStage::Make(plan_, manifest, functions).value();
  }

  // Reads all pieces; each ends after `time`.
  std::vector<std::string> Pieces(std::chrono::nanoseconds time) {
    const auto scratch = stage_->NewScratch();
    scratch->piece_time = time;
    std::vector<std::string> pieces;
    const Cursor end{plan_->size(), 0};
    for (Cursor at{}; at < end;) {
      const auto piece = stage_->Run(at, end, size_t{1} << 20, *scratch);
      EXPECT_TRUE(piece.ok()) << piece.status();
      if (!piece.ok()) break;
      EXPECT_TRUE(piece->Validate().ok()) << piece->Validate();
      EXPECT_GT(piece->end, at);
      at = piece->end;
      std::string text;
      for (size_t row = 0; row < piece->chunk.rows; ++row) {
        AppendJson(piece->chunk, row, text);
        text += ' ';
      }
      if (!text.empty()) pieces.push_back(std::move(text));
    }
    return pieces;
  }

  const TestFolder folder_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const WorkerStage> stage_;
};

TEST_F(PieceTime, EveryKindOfPositionEndsWithTheElementThatIsDue) {
  const std::string lines =
      "{source: {text: {files: numbers.txt}}, steps: "
      "[{map: 'slow(to_number(x, int64))'}]}";
  const std::string input = "{source: {range: 4}, steps: [{map: 'slow(x)'}]}";
  for (const std::string& yaml : std::vector<std::string>{
           std::string("source: {range: 7}\nsteps: [{map: 'slow(x)'}]"),
           std::string("source: {range: 9}\nsteps: [{map: 'slow(x)'}, {filter: "
                       "'x % 2 == 0'}]"),
           std::string("source: {range: 9}\nsteps: [{map: 'slow(x)'}, {batch: "
                       "2}]"),
           std::string("source: {range: 9}\nsteps: [{map: 'slow(x)'}, {cache: "
                       "{}}, {map: 'x + 1'}]"),
           "source: {text: {files: numbers.txt}}\nsteps: [{map: "
           "'slow(to_number(x, int64))'}, {filter: 'x > 2'}]",
           "source: {text: {files: numbers.txt}}\nsteps: [{map: "
           "'to_number(x, int64)'}, {cache: {}}, {map: 'slow(x)'}]",
           "source: {mixture: {weights: [0.7, 0.3], inputs: [" + lines + ", " +
               lines + "]}}\n",
           "source: {zip: {inputs: [" + Named(lines, "a") + ", " +
               Named(lines, "b") + "]}}\n",
           "source: {concatenate: {inputs: [" + input + ", " + input +
               "]}}\n"}) {
    SCOPED_TRACE(yaml);
    Compile(yaml + "\noptions: {seed: 1}\n");
    const auto pieces = Pieces(std::chrono::nanoseconds(0));
    std::string whole;
    for (const auto& text : Pieces(std::chrono::nanoseconds::max())) {
      whole += text;
    }
    std::string together;
    for (const std::string& text : pieces) {
      EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 1) << text;
      together += text;
    }
    EXPECT_EQ(together, whole);
    EXPECT_GT(pieces.size(), 2u);
  }
}

TEST_F(PieceTime, AFilterThatKeepsNothingEndsItsPiecesToo) {
  Compile(
      "source: {text: {files: numbers.txt}}\nsteps: [{map: 'slow(to_number(x, "
      "int64))'}, {filter: 'x > 20'}]\n");
  const auto scratch = stage_->NewScratch();
  scratch->piece_time = std::chrono::nanoseconds(0);
  const auto piece =
      stage_->Run({0, 0}, {plan_->size(), 0}, size_t{1} << 20, *scratch);
  ASSERT_TRUE(piece.ok()) << piece.status();
  EXPECT_EQ(piece->chunk.rows, 0u);
  EXPECT_EQ(piece->end, (Cursor{0, 1}));
}

TEST_F(PieceTime, AStoppedReadingEndsBeforeTheNextElement) {
  const std::string lines =
      "{source: {text: {files: numbers.txt}}, steps: "
      "[{map: 'slow(to_number(x, int64))'}]}";
  for (const std::string& yaml : std::vector<std::string>{
           std::string("source: {range: 1000}\nsteps: [{map: 'slow(x)'}]\n"),
           std::string("source: {range: 1000}\nsteps: [{map: 'slow(x)'}, "
                       "{batch: 8}]\n"),
           "source: {text: {files: numbers.txt}}\nsteps: [{map: "
           "'slow(to_number(x, int64))'}]\n",
           "source: {concatenate: {inputs: [" + lines + ", " + lines +
               "]}}\n"}) {
    SCOPED_TRACE(yaml);
    Compile(yaml);
    g_stop = false;
    const ReadStop stop(g_stop);
    const auto scratch = stage_->NewScratch();
    const auto piece =
        stage_->Run({0, 0}, {plan_->size(), 0}, size_t{1} << 20, *scratch);
    EXPECT_EQ(piece.status().code(), absl::StatusCode::kCancelled)
        << piece.status();
  }
}

// Steps after these batches run in the reader.
TEST_F(PieceTime, ASlowStepOfTheReaderGivesItsFirstElementsFirst) {
  for (const std::string steps :
       {"{batch: 2}, {map: 'slow(sum(x))'}",
        "{batch: 2}, {map: 'slow(sum(x))'}, {skip: 3}, {take: 9}"}) {
    const auto graph = ParseGraphYaml(
        "source: {range: 100}\nsteps: [{filter: 'x % 2 == 1'}, " + steps +
            "]\noptions: {seed: 1}\n",
        "");
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto reader =
        LocalReader::Make(*graph, SlowFunctions(), LocalSequenceOptions{})
            .value();
    std::vector<int64_t> numbers;
    size_t first = 0;
    for (;;) {
      const auto chunk = reader->Next(absl::InfiniteFuture());
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk->has_value()) break;
      for (const int64_t number : (*chunk)->columns[0].values.As<int64_t>()) {
        numbers.push_back(number);
      }
      if (first == 0) first = numbers.size();
    }
    const bool cut = steps.find("take") != std::string::npos;
    EXPECT_LT(first, numbers.size());
    ASSERT_EQ(numbers.size(), cut ? 9u : 25u);
    for (size_t k = 0; k < numbers.size(); ++k) {
      EXPECT_EQ(numbers[k], 4 + 8 * static_cast<int64_t>(k + (cut ? 3 : 0)));
    }
  }
}

TEST(RowPace, RunsAsManyRowsAsTakeTenMilliseconds) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  RowPace pace;
  EXPECT_EQ(pace.rows(), 1u);
  pace.Observe(1, Milliseconds(0.01));
  EXPECT_EQ(pace.rows(), 4u);
  pace.Observe(4, Milliseconds(0.01));
  EXPECT_EQ(pace.rows(), 16u);
  pace.Observe(16, Milliseconds(16));
  EXPECT_EQ(pace.rows(), 10u);
  pace.Observe(2, Milliseconds(0.001));  // the last rows of a piece
  EXPECT_EQ(pace.rows(), 40u);
  pace.Observe(10, Milliseconds(5'000));
  EXPECT_EQ(pace.rows(), 1u);
}

}  // namespace
}  // namespace feedmill

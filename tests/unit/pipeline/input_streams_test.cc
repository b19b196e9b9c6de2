// Combining sources with inputs whose elements are not counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/piece_maker.h"
#include "core/pipeline/stream_threads.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const char* const kOdd =
    "{source: {range: 6}, steps: [{filter: 'x % 2 == 1'}]}";
const char* const kTens =
    "{source: {range: 3}, steps: [{map: 'x * 10 + 100'}]}";
const char* const kNone = "{source: {range: 6}, steps: [{filter: 'x > 9'}]}";

// Threads inside `meet`, which waits until there are two.
struct Meeting {
  std::mutex mutex;
  std::condition_variable came;
  int inside = 0;
  bool met = false;
};

std::shared_ptr<const FunctionRegistry> WithMeet(Meeting& meeting) {
  FunctionRegistry::Function function;
  function.infer =
      [](const std::vector<ValueType>& arguments) -> absl::StatusOr<ValueType> {
    return arguments.at(0);
  };
  function.compute = [&meeting](std::span<const Argument> arguments,
                                size_t rows, const ValueType& type,
                                OutputColumn& out) {
    {
      std::unique_lock lock(meeting.mutex);
      meeting.met = meeting.met || ++meeting.inside == 2;
      meeting.came.notify_all();
      meeting.came.wait_for(lock, std::chrono::seconds(20),
                            [&] { return meeting.met; });
      --meeting.inside;
    }
    out.Reset(type.dtype, {});
    for (const int64_t value :
         arguments[0].column->values.As<int64_t>().first(rows)) {
      out.values.Push(value);
    }
    return absl::OkStatus();
  };
  function.heavy = true;
  FunctionRegistry functions = BuiltinFunctions();
  functions.Add("meet", std::move(function));
  return std::make_shared<const FunctionRegistry>(std::move(functions));
}

class InputStreams : public ::testing::Test {
 protected:
  struct Read {
    std::string text;  // elements, each followed by a space
    absl::Status status;
  };

  Read ReadAll(const std::string& source, const std::string& steps = "",
               size_t limit = SIZE_MAX) const {
    const std::string yaml = "source: {" + source + "}\nsteps: [" + steps +
                             "]\noptions: {seed: 1}\n";
    Read out;
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    EXPECT_TRUE(graph.ok()) << yaml << "\n" << graph.status();
    if (!graph.ok()) return out;
    for (const int threads : {1, 2, 5}) {
      LocalSequenceOptions options;
      options.threads = threads;
      options.piece_bytes = threads == 2 ? 1 : size_t{1} << 20;
      const Read again = ReadGraph(*graph, options, limit);
      if (threads > 1) {
        EXPECT_EQ(again.text, out.text) << threads << " threads";
        EXPECT_EQ(again.status, out.status) << threads << " threads";
      }
      out = again;
    }
    return out;
  }

  static Read ReadGraph(
      const Graph& graph, const LocalSequenceOptions& options, size_t limit,
      const std::shared_ptr<const FunctionRegistry>& functions =
          std::make_shared<const FunctionRegistry>(BuiltinFunctions())) {
    Read out;
    const auto reader = LocalReader::Make(graph, functions, options);
    out.status = reader.status();
    for (size_t n = 0; out.status.ok() && n < limit;) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      out.status = chunk.status();
      if (!chunk.ok() || !*chunk) break;
      for (size_t row = 0; row < (*chunk)->rows && n < limit; ++row, ++n) {
        AppendJson(**chunk, row, out.text);
        out.text += ' ';
      }
    }
    return out;
  }

  const TestFolder folder_;
};

std::string GzipOf(const std::string& text) {
  const TestFolder folder;
  const gzFile file = gzopen((folder / "x").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream in(folder / "x", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Inputs(const std::vector<std::string>& inputs) {
  return fmt::format("[{}]", fmt::join(inputs, ", "));
}

TEST_F(InputStreams, ComeInTheOrderOfCountedOnes) {
  const std::string inputs = Inputs({kOdd, kTens});
  EXPECT_EQ(ReadAll("concatenate: " + inputs).text, "1 3 5 100 110 120 ");
  EXPECT_EQ(
      ReadAll("interleave: {inputs: " + inputs + ", block_length: 2}").text,
      "1 3 100 110 5 120 ");
  EXPECT_EQ(ReadAll("interleave: {inputs: " + Inputs({kNone, kTens, kOdd}) +
                    ", cycle_length: 2}")
                .text,
            "100 1 110 3 120 5 ");
  EXPECT_EQ(ReadAll("zip: [{source: {range: 9}, steps: [{filter: 'x != 1'}, "
                    "{map: {a: x}}]}, {source: {range: 3}, steps: [{map: {b: "
                    "-x}}]}]")
                .text,
            R"({"a":0,"b":0} {"a":2,"b":-1} {"a":3,"b":-2} )");
}

TEST_F(InputStreams, BeginAgainInMixtures) {
  const auto mixture = [](const std::string& stop) {
    return "mixture: {inputs: " + Inputs({kOdd, kTens}) +
           ", weights: [2, 1], stop: " + stop + "}";
  };
  EXPECT_EQ(ReadAll(mixture("first_exhausted")).text, "1 3 100 5 ");
  EXPECT_EQ(ReadAll(mixture("all_exhausted")).text, "1 3 100 5 1 110 3 5 120 ");
  EXPECT_EQ(ReadAll(mixture("repeat"), "{take: 10}").text,
            "1 3 100 5 1 110 3 5 120 1 ");
  EXPECT_EQ(ReadAll(mixture("repeat"), "", 4).text, "1 3 100 5 ");
}

// The sizes count, also of a component that is dropped behind the mixture.
TEST_F(InputStreams, AreMixedByTheSizesOfAComponent) {
  const std::string shorts =
      "{source: {range: 9}, steps: [{map: {n: x, t: 'full([2], x)'}}]}";
  const std::string longs =
      "{source: {range: 9}, steps: [{map: {n: 'x + 100', t: 'full([6], x)'}}]}";
  const std::string inputs = "inputs: " + Inputs({shorts, longs});
  EXPECT_EQ(ReadAll("mixture: {" + inputs +
                        ", weights: [1, 1], unit: items, component: t}",
                    "{select: [n]}, {map: n}")
                .text,
            "0 100 1 2 3 101 4 5 6 102 7 8 ");
  EXPECT_EQ(ReadAll("mixture: {" + inputs +
                        ", weights: [1, 3], unit: bytes, component: t}",
                    "{map: n}, {take: 6}")
                .text,
            "0 100 1 101 2 102 ");
}

TEST_F(InputStreams, WithoutElementsCannotBeginAgain) {
  const Read read = ReadAll("mixture: {inputs: " + Inputs({kTens, kNone}) +
                            ", weights: [2, 1], stop: repeat}");
  EXPECT_EQ(read.text, "100 110 ");
  EXPECT_TRUE(absl::IsFailedPrecondition(read.status)) << read.status;
  EXPECT_THAT(ErrorText(read.status),
              HasSubstr("mixture inputs[1] has no elements"));
}

TEST_F(InputStreams, AreReadAgainInEachPass) {
  const std::string source = "concatenate: " + Inputs({kOdd, kTens});
  EXPECT_EQ(ReadAll(source, "{repeat: 2}, {batch: 4}").text,
            "[1,3,5,100] [110,120,1,3] [5,100,110,120] ");
  const std::string shuffled =
      "concatenate: [{source: {range: 40}, steps: [shuffle, {filter: 'x < "
      "30'}]}]";
  const std::string once = ReadAll(shuffled).text;
  const std::string twice = ReadAll(shuffled, "{repeat: 2}").text;
  EXPECT_THAT(twice, StartsWith(once));
  EXPECT_NE(twice, once + once);
}

TEST_F(InputStreams, HaveStepsOfTheClient) {
  EXPECT_EQ(ReadAll("concatenate: [{source: {range: 5}, steps: [{batch: 2}]}, "
                    "{source: {range: 4}, steps: [{window: {size: 3, shift: "
                    "2, drop_remainder: true}}]}]",
                    "{map: 'x * 2'}")
                .text,
            "[0,2] [4,6] [8] [0,2,4] ");
}

TEST_F(InputStreams, EndWithWhatIsBad) {
  const std::string bad =
      "{source: {range: 5}, steps: [{filter: 'x != 0'}, {map: '12 // (x - "
      "3)'}]}";
  const Read read = ReadAll("interleave: " + Inputs({bad, kTens}));
  EXPECT_EQ(read.text, "-6 100 -12 110 ");
  EXPECT_TRUE(absl::IsDataLoss(read.status)) << read.status;
  EXPECT_THAT(ErrorText(read.status),
              AllOf(HasSubstr("inputs[0]"), HasSubstr("steps[1] map")));
  const Read behind =
      ReadAll("concatenate: " + Inputs({kOdd}), "{map: '12 // (x - 3)'}");
  EXPECT_THAT(ErrorText(behind.status), HasSubstr("concatenate: element 1: "));
}

// Skipped elements are output at once: they do not accumulate while an element
// is searched, and need no later element to be counted.
TEST_F(InputStreams, ReportSkippedElementsOneAtATime) {
  const std::string none =
      "{source: {range: 1000000000000}, steps: [{map: '1 // (x - x)'}, "
      "{on_error: {policy: skip, cap: 9}}]}";
  for (const std::string& source :
       {"concatenate: " + Inputs({kTens, none}),
        "interleave: {inputs: " + Inputs({kTens, none}) + ", block_length: 3}",
        "mixture: {inputs: " + Inputs({kTens, none}) +
            ", weights: [3, 1], stop: all_exhausted}",
        "mixture: {inputs: " + Inputs({kTens, none}) +
            ", weights: [3, 1], stop: repeat}"}) {
    const Read read = ReadAll(source);
    EXPECT_EQ(read.text, "100 110 120 ") << source;
    EXPECT_TRUE(absl::IsDataLoss(read.status)) << read.status;
    EXPECT_THAT(ErrorText(read.status), HasSubstr("10 elements could not be"));
  }
  const Read zipped = ReadAll(
      "zip: [{source: {range: 3}, steps: [{map: {a: x}}]}, {source: "
      "{range: 1000000000000}, steps: [{map: {b: '1 // (x - x)'}}, "
      "{on_error: {policy: skip, cap: 9}}]}]");
  EXPECT_EQ(zipped.text, "");
  EXPECT_TRUE(absl::IsDataLoss(zipped.status)) << zipped.status;
}

// An input that skips everything when it begins again is empty.
TEST_F(InputStreams, AnInputThatSkipsAllElementsCannotBeginAgain) {
  const std::string rarely =
      "{source: {range: 3}, steps: [{map: '1 // where(random.uniform(0.0, 1.0) "
      "< 0.5, 1, 0)'}, {on_error: skip}]}";
  const Read read = ReadAll("mixture: {inputs: " + Inputs({kTens, rarely}) +
                            ", weights: [1, 1], stop: repeat}");
  EXPECT_TRUE(absl::IsFailedPrecondition(read.status)) << read.status;
  EXPECT_THAT(ErrorText(read.status),
              HasSubstr("mixture inputs[1] has no elements"));
}

TEST_F(InputStreams, SeveralThreadsMakeThem) {
  folder_.Write("a.gz", GzipOf("0\n1\n2\n"));
  folder_.Write("b.gz", GzipOf("3\n4\n"));
  const std::string meets = "map: 'meet(to_number(x, int64))'";
  const std::string a =
      "{source: {text: {files: a.gz}}, steps: [{" + meets + "}]}";
  const std::string both =
      "{source: {text: {files: ['a.gz', 'b.gz']}}, steps: [{" + meets + "}]}";
  const std::string range =
      "{source: {range: 4}, steps: [{filter: 'x > 0'}, {map: 'meet(x)'}]}";
  const std::string nested =
      "{source: {interleave: " + Inputs({a, a}) + "}, steps: [{take: 4}]}";
  for (const std::string& source :
       {"interleave: " + Inputs({a, range}), "concatenate: " + Inputs({a, a}),
        "concatenate: " + Inputs({both}), "interleave: " + Inputs({nested})}) {
    SCOPED_TRACE(source);
    Meeting meeting;
    const auto functions = WithMeet(meeting);
    const auto graph =
        ParseGraphYaml("source: {" + source + "}\n", folder_.path());
    ASSERT_TRUE(graph.ok()) << graph.status();
    LocalSequenceOptions options;
    options.threads = 2;
    const Read read = ReadGraph(*graph, options, SIZE_MAX, functions);
    EXPECT_TRUE(read.status.ok()) << read.status;
    EXPECT_THAT(read.text, StartsWith("0 "));
    EXPECT_TRUE(meeting.met) << "one thread made all elements";
  }
}

TEST_F(InputStreams, MayBeCompressedFiles) {
  folder_.Write("a.gz", GzipOf("one\ntwo\nthree\n"));
  folder_.Write("b.txt", "x\ny\n");
  EXPECT_EQ(ReadAll("interleave: [{source: {text: a.gz}}, {source: {text: "
                    "b.txt}}]",
                    "{batch: 3}")
                .text,
            R"(["one","x","two"] ["y","three"] )");
}

// The built-in functions, and tick(x), which takes 1 ms a row and counts them.
std::shared_ptr<const FunctionRegistry> WithTick(std::atomic<int>& ticks) {
  FunctionRegistry::Function function;
  function.infer =
      [](const std::vector<ValueType>& arguments) -> absl::StatusOr<ValueType> {
    return arguments.at(0);
  };
  function.compute = [&ticks](std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
    out.Reset(type.dtype, {});
    for (const int64_t value :
         arguments[0].column->values.As<int64_t>().first(rows)) {
      using Clock = std::chrono::steady_clock;
      const auto end = Clock::now() + std::chrono::milliseconds(1);
      while (Clock::now() < end) continue;
      ++ticks;
      out.values.Push(value);
    }
    return absl::OkStatus();
  };
  function.heavy = true;
  FunctionRegistry functions = BuiltinFunctions();
  functions.Add("tick", std::move(function));
  return std::make_shared<const FunctionRegistry>(std::move(functions));
}

// A second attempt at a pass repeats little of it.
TEST(StreamStates, AnotherStageContinuesShortlyBefore) {
  std::atomic<int> ticks = 0;
  const auto functions = WithTick(ticks);
  const std::string input =
      "{source: {range: 400}, steps: [{filter: 'x % 2 == 0'}, {map: "
      "'tick(x)'}]}";
  const auto graph = ParseGraphYaml(
      "source: {interleave: " + Inputs({input, input}) + "}\n", "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto analyzed = Analyze(*graph, *functions).value();
  const auto plan = Plan::Make(analyzed, 1, 7, 0).value();
  const auto stage = WorkerStage::Make(plan, nullptr, functions).value();
  const auto scratch = stage->NewScratch();
  scratch->piece_time = WorkerStage::kPieceTime;
  Piece piece;
  for (Cursor at; at.i < 200; at = piece.end) {
    auto made = stage->Run(at, {1, 0}, size_t{1} << 20, *scratch);
    ASSERT_TRUE(made.ok()) << made.status();
    piece = *std::move(made);
  }
  ASSERT_NE(piece.state, nullptr);
  const auto again = WorkerStage::Make(plan, nullptr, functions).value();
  again->Restore(*piece.state);
  ticks = 0;
  const auto own = again->NewScratch();
  own->piece_time = std::chrono::nanoseconds(0);
  const auto next = again->Run(piece.end, {1, 0}, 1, *own);
  ASSERT_TRUE(next.ok()) << next.status();
  ASSERT_GE(next->chunk.rows, 1U);
  // Both inputs give 0, 2, 4, ….
  EXPECT_EQ(next->chunk.columns[0].values.As<int64_t>()[0],
            static_cast<int64_t>(piece.end.i / 2 * 2));
  EXPECT_LT(ticks, 120);
}

TEST(SharedPieceMaker, KeepsItsPiecesWithinTheBoundAndReleasesThem) {
  constexpr size_t kPiece = size_t{64} << 10;
  constexpr size_t kBound = 8 * kPiece;
  const auto graph = ParseGraphYaml(
      "source: {range: 200}\nsteps: [{map: 'full([8192], x)'}]\n", "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto functions =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  const auto plan =
      Plan::Make(Analyze(*graph, *functions).value(), 200, 7, 0).value();
  Executor executor(3);
  const auto streams = std::make_shared<StreamThreads>(executor, kBound);
  auto maker = std::make_unique<PieceMaker>(
      WorkerStage::Make(plan, nullptr, functions).value(), Cursor{}, 200,
      PieceMaker::Options{.shared = streams,
                          .memory_bytes = size_t{1} << 30,
                          .piece_bytes = kPiece,
                          .element_bytes_max = kElementBytesMax});
  maker->Begin();
  for (Cursor at; at.p < 150;) {
    Piece piece;
    const auto taken = maker->Take(absl::InfiniteFuture(), piece);
    ASSERT_TRUE(taken.ok() && *taken == PieceSource::TakeResult::kPiece);
    EXPECT_EQ(piece.begin, at);
    EXPECT_LE(streams->bytes(), kBound + 3 * kPiece);
    at = piece.end;
  }
  maker.reset();
  EXPECT_EQ(streams->bytes(), 0U);
}

}  // namespace
}  // namespace feedmill

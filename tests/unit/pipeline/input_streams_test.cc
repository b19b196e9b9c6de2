// Combining sources with inputs whose elements are not counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
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
    for (const size_t bytes : {size_t{1} << 20, size_t{1}}) {
      LocalSequenceOptions options;
      options.piece_bytes = bytes;
      const Read again = ReadGraph(*graph, options, limit);
      if (bytes == 1) {
        EXPECT_EQ(again.text, out.text);
      }
      out = again;
    }
    return out;
  }

  const TestFolder folder_;

 private:
  static Read ReadGraph(const Graph& graph, const LocalSequenceOptions& options,
                        size_t limit) {
    static const auto functions =
        std::make_shared<const FunctionRegistry>(BuiltinFunctions());
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

TEST_F(InputStreams, MayBeCompressedFiles) {
  folder_.Write("a.gz", GzipOf("one\ntwo\nthree\n"));
  folder_.Write("b.txt", "x\ny\n");
  EXPECT_EQ(ReadAll("interleave: [{source: {text: a.gz}}, {source: {text: "
                    "b.txt}}]",
                    "{batch: 3}")
                .text,
            R"(["one","x","two"] ["y","three"] )");
}

}  // namespace
}  // namespace feedmill

// Compares each sequence step with answers written by hand: uniform, ragged,
// empty and one-element input, several cuts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/row_groups.h"
#include "tests/unit/pipeline/builtin_registry.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// Expands List(n): n times x.
std::string WithLists(std::string steps) {
  const std::string list = "List(";
  for (size_t at = steps.find(list); at != std::string::npos;
       at = steps.find(list)) {
    const size_t begin = at + list.size();
    const size_t end = steps.find(')', begin);
    steps = steps.substr(0, at) + "(decode_raw(substr(\"aaaaaaaaa\", 0, " +
            steps.substr(begin, end - begin) + "), uint8) * 0 + x" +
            steps.substr(end);
  }
  return steps;
}

// Returns the elements as lines; an error is the last line.
std::string LinesOf(const std::string& steps, int64_t stop,
                    size_t piece_bytes) {
  const auto graph =
      ParseGraphYaml(fmt::format("source: {{range: {{stop: {}}}}}\nsteps: {}\n"
                                 "options: {{seed: 7}}\n",
                                 stop, WithLists(steps)),
                     "/");
  if (!graph.ok()) return ErrorText(graph.status());
  const auto again = ParseGraphJson(CanonicalText(*graph));
  EXPECT_TRUE(again.ok()) << again.status();
  LocalSequenceOptions options;
  options.threads = 2;
  options.piece_bytes = piece_bytes;
  const auto reader = LocalReader::Make(*again, BuiltinRegistry(), options);
  if (!reader.ok()) return ErrorText(reader.status());
  std::string out;
  while (true) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    if (!chunk.ok()) return out + "ERROR " + ErrorText(chunk.status()) + "\n";
    if (!*chunk) return out;
    EXPECT_TRUE((*chunk)->Validate().ok()) << (*chunk)->Validate();
    for (size_t row = 0; row < (*chunk)->rows; ++row) {
      AppendJson(**chunk, row, out);
      out += "\n";
    }
  }
}

void Gives(const std::string& steps, int64_t stop, const std::string& lines) {
  for (const size_t bytes : {size_t{1}, size_t{40}, size_t{1} << 20}) {
    EXPECT_EQ(LinesOf(steps, stop, bytes), lines)
        << steps << " of " << stop << ", pieces of " << bytes;
  }
}

// Tests the step also after a filter that keeps everything: in the client
// stage.
void GivesAnywhere(const std::string& step, int64_t stop,
                   const std::string& lines) {
  Gives("[" + step + "]", stop, lines);
  Gives("[{filter: 'x >= 0'}, " + step + "]", stop, lines);
}

TEST(Shard, TakesEveryNth) {
  GivesAnywhere("{shard: {count: 3, index: 1}}", 9, "1\n4\n7\n");
  GivesAnywhere("{shard: {count: 3, index: 1}}", 8, "1\n4\n7\n");
  GivesAnywhere("{shard: {count: 3, index: 2}}", 8, "2\n5\n");
  GivesAnywhere("{shard: {count: 3, index: 0}}", 1, "0\n");
  GivesAnywhere("{shard: {count: 3, index: 1}}", 1, "");
  GivesAnywhere("{shard: {count: 1, index: 0}}", 2, "0\n1\n");
  Gives("[{batch: 2}, {shard: {count: 2, index: 1}}]", 8, "[2,3]\n[6,7]\n");
  Gives("[{shard: {count: 2, index: 1}}, {repeat: 2}, {batch: 3}]", 6,
        "[1,3,5]\n[1,3,5]\n");
  EXPECT_THAT(LinesOf("[{shard: {count: 3, index: 3}}]", 9, 1),
              HasSubstr("the index must be 0 to 2"));
}

TEST(WithColumns, AddsAndReplaces) {
  GivesAnywhere("{with_columns: {half: x / 2}}", 2,
                "{\"x\":0,\"half\":0.0}\n{\"x\":1,\"half\":0.5}\n");
  GivesAnywhere("{with_columns: {y: x + 1, x: x * 10}}", 2,
                "{\"x\":0,\"y\":1}\n{\"x\":10,\"y\":2}\n");
  Gives("[{batch: 2}, {with_columns: {y: x + 1}}]", 3,
        "{\"x\":[0,1],\"y\":[1,2]}\n{\"x\":[2],\"y\":[3]}\n");
  // A value that no step needs is not made, and its random calls count.
  Gives("[{with_columns: {bad: 1 // x, y: x}}, {map: y}]", 2, "0\n1\n");
  Gives("[{map: {x: x, y: 1 // x}}, {with_columns: {y: x}}]", 2,
        "{\"x\":0,\"y\":0}\n{\"x\":1,\"y\":1}\n");
  EXPECT_THAT(LinesOf("[{with_columns: x + 1}]", 3, 1),
              HasSubstr("has no name; write with_columns: {name: "));
  EXPECT_THAT(LinesOf("[{with_columns: {y: z}}]", 3, 1),
              HasSubstr("there is no component \"z\""));
}

TEST(SelectDropRename, ChooseComponents) {
  const std::string made = "{map: {a: x, b: x + 1, c: x + 2}}";
  Gives("[" + made + ", {select: [c, a]}]", 1, "{\"c\":2,\"a\":0}\n");
  Gives("[" + made + ", {drop: [c, a]}]", 1, "{\"b\":1}\n");
  Gives("[" + made + ", {rename: {a: b, b: a}}]", 1,
        "{\"b\":0,\"a\":1,\"c\":2}\n");
  Gives("[" + made + ", {rename: {a: \"component('is a')\"}}, {drop: b}]", 1,
        "{\"is a\":0,\"c\":2}\n");
  GivesAnywhere("{rename: {x: y}}", 1, "{\"y\":0}\n");
  EXPECT_THAT(LinesOf("[" + made + ", {select: [a, d]}]", 1, 1),
              HasSubstr("there is no component \"d\""));
  EXPECT_THAT(LinesOf("[" + made + ", {select: [a, a]}]", 1, 1),
              HasSubstr("\"a\" is there twice"));
  EXPECT_THAT(LinesOf("[" + made + ", {drop: [a, b, c]}]", 1, 1),
              HasSubstr("keep at least one"));
  EXPECT_THAT(LinesOf("[" + made + ", {rename: {a: b}}]", 1, 1),
              HasSubstr("\"b\" is there twice"));
  EXPECT_THAT(LinesOf("[" + made + ", {rename: {a: x + 1}}]", 1, 1),
              HasSubstr("write rename: {old: new}"));
}

TEST(Enumerate, NumbersElements) {
  GivesAnywhere("{enumerate: {}}", 2,
                "{\"index\":0,\"x\":0}\n{\"index\":1,\"x\":1}\n");
  GivesAnywhere("{enumerate: {}}", 0, "");
  Gives(
      "[{skip: 3}, {enumerate: {component: n, start: -1}}, {map: 'n'}, "
      "{repeat: 2}]",
      6, "-1\n0\n1\n-1\n0\n1\n");
  Gives(
      "[{filter: 'x % 2 == 1'}, enumerate, {filter: 'index != 1'}, {map: "
      "'x * 10 + index'}]",
      8, "10\n52\n73\n");
  Gives("[enumerate, {batch: 2}, {map: 'index * 10 + x'}]", 3,
        "[0,11]\n[22]\n");
  Gives("[{batch: 2}, enumerate]", 3,
        "{\"index\":0,\"x\":[0,1]}\n{\"index\":1,\"x\":[2]}\n");
  EXPECT_THAT(LinesOf("[{enumerate: {component: x}}]", 3, 1),
              HasSubstr("\"x\" is there twice"));
}

TEST(WindowedShuffle, PermutesWithinRuns) {
  for (const char* before : {"", "{filter: 'x >= 0'}, "}) {
    const std::string lines = LinesOf(
        fmt::format("[{}{{shuffle: {{window: 4}}}}, {{repeat: 2}}]", before),
        10, 20);
    std::istringstream in(lines);
    std::vector<int64_t> values;
    for (int64_t value = 0; in >> value;) values.push_back(value);
    ASSERT_EQ(values.size(), 20u);
    const std::vector<int64_t> first(values.begin(), values.begin() + 10);
    const std::vector<int64_t> second(values.begin() + 10, values.end());
    EXPECT_NE(first, second);
    for (const auto& pass : {first, second}) {
      EXPECT_THAT(
          pass, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    }
    if (*before != '\0') continue;
    for (int64_t k = 0; k < 10; ++k) {
      EXPECT_EQ(first[static_cast<size_t>(k)] / 4, k / 4);
      EXPECT_EQ((second[static_cast<size_t>(k)] + 2) / 4, (k + 2) / 4);
    }
  }
  GivesAnywhere("{shuffle: {window: 1}}", 3, "0\n1\n2\n");
  GivesAnywhere("{shuffle: {window: 5}}", 0, "");
  GivesAnywhere("{shuffle: {window: 5}}", 1, "0\n");
}

TEST(PaddedBatch, PadsToTheLongest) {
  const std::string lists = "{map: 'List(x)'}, ";
  GivesAnywhere(lists + "{padded_batch: 2}", 5,
                "[[0],[1]]\n[[2,2,0],[3,3,3]]\n[[4,4,4,4]]\n");
  GivesAnywhere(lists + "{padded_batch: {size: 2, drop_remainder: true}}", 1,
                "");
  GivesAnywhere(lists + "{padded_batch: 2}", 0, "");
  GivesAnywhere(
      lists + "{padded_batch: {size: 3, shapes: {x: 3}, values: {x: -1}}}", 4,
      "[[-1,-1,-1],[1,-1,-1],[2,2,-1]]\n[[3,3,3]]\n");
  GivesAnywhere("{map: 'reshape(List(2 * x), [-1, 2])'}, {padded_batch: 3}", 3,
                "[[[0,0],[0,0]],[[1,1],[0,0]],[[2,2],[2,2]]]\n");
  GivesAnywhere(
      "{map: {a: x, b: 'split(substr(\"a b c\", 0, x * 2))'}}, "
      "{padded_batch: {size: 3, shapes: {b: ['?']}}}",
      3, "{\"a\":[0,1,2],\"b\":[[\"\",\"\"],[\"a\",\"\"],[\"a\",\"b\"]]}\n");
  EXPECT_THAT(
      LinesOf("[" + lists + "{padded_batch: {size: 3, shapes: {x: 2}}}]", 5,
              100),
      ::testing::AllOf(
          ::testing::StartsWith("[[0,0],[1,0],[2,2]]\nERROR batch 1"),
          HasSubstr("[3] is longer than the [2]")));
  EXPECT_THAT(LinesOf("[{map: 'cast(x, uint8)'}, "
                      "{padded_batch: {size: 3, values: {x: 256}}}]",
                      5, 1),
              HasSubstr("x cannot be padded with 256: it is uint8"));
}

TEST(RaggedBatch, JoinsRowsAndSaysWhereTheyAre) {
  const std::string lists = "{map: {n: x, t: 'List(x % 3)'}}, ";
  GivesAnywhere(lists + "{ragged_batch: 3}", 4,
                "{\"n\":[0,1,2],\"t\":[1,2,2],\"t_offsets\":[0,0,1,3]}\n"
                "{\"n\":[3],\"t\":[],\"t_offsets\":[0,0]}\n");
  GivesAnywhere(lists + "{ragged_batch: 3}", 0, "");
  GivesAnywhere("{map: 'full([2, 1], x)'}, {ragged_batch: 2}", 2,
                "{\"x\":[[0],[0],[1],[1]],\"x_offsets\":[0,2,4]}\n");
  EXPECT_THAT(LinesOf("[{ragged_batch: 2}]", 3, 1), HasSubstr("use batch"));
  EXPECT_THAT(LinesOf("[{map: {image: 'full([2, 2, 2, 3], x)'}}, "
                      "{ragged_batch: 2}, {random_flip: {}}]",
                      3, 1),
              HasSubstr("steps[1] ragged_batch joins them"));
}

TEST(Unbatch, TakesElementsApart) {
  GivesAnywhere("{map: 'List(x)'}, unbatch", 4, "1\n2\n2\n3\n3\n3\n");
  GivesAnywhere("{batch: 4}, unbatch", 6, "0\n1\n2\n3\n4\n5\n");
  GivesAnywhere("{batch: 4}, unbatch", 0, "");
  GivesAnywhere("{batch: 3}, unbatch, {take: 4}, {batch: 3}, {repeat: 2}", 5,
                "[0,1,2]\n[3]\n[0,1,2]\n[3]\n");
  EXPECT_THAT(LinesOf("[{map: {a: 'full([2], x)', b: 'List(x)'}}, "
                      "{skip: 2}, unbatch]",
                      4, 100),
              ::testing::AllOf(
                  ::testing::StartsWith("{\"a\":2,\"b\":2}\n{\"a\":2,\"b\":2}\n"
                                        "ERROR"),
                  HasSubstr("have 2 and 3 records")));
  EXPECT_THAT(LinesOf("[unbatch]", 4, 1), HasSubstr("first axis"));
}

TEST(Rebatch, MakesBatchesOfAnotherSize) {
  GivesAnywhere("{batch: 2}, {rebatch: 3}", 8, "[0,1,2]\n[3,4,5]\n[6,7]\n");
  GivesAnywhere("{batch: 5}, {rebatch: {size: 2, drop_remainder: true}}", 8,
                "[0,1]\n[2,3]\n[4,5]\n[6,7]\n");
  GivesAnywhere("{batch: 5}, {rebatch: 1}", 1, "[0]\n");
  GivesAnywhere("{batch: 5}, {rebatch: 1}", 0, "");
}

TEST(Window, SlidesOverTheSequence) {
  GivesAnywhere("{window: 3}", 7, "[0,1,2]\n[3,4,5]\n[6]\n");
  GivesAnywhere("{window: {size: 3, drop_remainder: true}}", 7,
                "[0,1,2]\n[3,4,5]\n");
  GivesAnywhere("{window: {size: 3, shift: 1}}", 4,
                "[0,1,2]\n[1,2,3]\n[2,3]\n[3]\n");
  GivesAnywhere("{window: {size: 2, shift: 3}}", 8, "[0,1]\n[3,4]\n[6,7]\n");
  GivesAnywhere("{window: {size: 2, shift: 5, stride: 2}}", 7, "[0,2]\n[5]\n");
  GivesAnywhere(
      "{window: {size: 2, shift: 1, stride: 3, drop_remainder: true}}", 6,
      "[0,3]\n[1,4]\n[2,5]\n");
  GivesAnywhere("{window: 3}", 1, "[0]\n");
  GivesAnywhere("{window: 3}", 0, "");
  GivesAnywhere("{window: {size: 2, shift: 1}}, {repeat: 2}", 2,
                "[0,1]\n[1]\n[0,1]\n[1]\n");
  EXPECT_THAT(
      LinesOf("[{map: 'List(1 + x // 4)'}, {window: {size: 2}}]", 6, 100),
      ::testing::StartsWith("[[0],[1]]\n[[2],[3]]\n[[4,4],[5,5]]\n"));
  EXPECT_THAT(
      LinesOf("[{map: 'List(1 + x // 3)'}, {window: {size: 2}}]", 6, 100),
      ::testing::StartsWith("[[0],[1]]\nERROR"));
}

TEST(BucketBySequenceLength, BatchesElementsOfSimilarLength) {
  const std::string bucket =
      "{bucket_by_sequence_length: {boundaries: [2, 4], batch_sizes: [2, 2, "
      "1]";
  const std::string lists = "{map: 'List(x % 5)'}, ";
  GivesAnywhere(
      lists + bucket + "}}", 8,
      "[[0],[1]]\n[[2,2,0],[3,3,3]]\n[[4,4,4,4]]\n[[0],[6]]\n[[7,7]]\n");
  GivesAnywhere(lists + bucket + ", drop_remainder: true}}", 3, "[[0],[1]]\n");
  GivesAnywhere(lists + bucket + "}}", 1, "[[]]\n");
  GivesAnywhere(lists + bucket + "}}", 0, "");
  GivesAnywhere(lists + bucket + ", values: {x: 9}}}, {repeat: 2}", 1,
                "[[]]\n[[]]\n");
  GivesAnywhere(bucket + "}}", 5, "[0,1]\n[2,3]\n[4]\n");
  EXPECT_THAT(LinesOf("[" + bucket + ", shapes: {x: 3}}}]", 5, 1),
              HasSubstr("cannot be padded to [3]"));
}

TEST(TokenBatch, KeepsToTheBudget) {
  const std::string lists = "{map: 'List(x % 4)'}, ";
  GivesAnywhere(lists + "{token_batch: {tokens: 6}}", 8,
                "[[0,0],[1,0],[2,2]]\n[[3,3,3],[0,0,0]]\n"
                "[[5,0],[6,6]]\n[[7,7,7]]\n");
  GivesAnywhere(lists + "{token_batch: {tokens: 6, layout: ragged}}", 5,
                "{\"x\":[1,2,2],\"x_offsets\":[0,0,1,3]}\n"
                "{\"x\":[3,3,3],\"x_offsets\":[0,3,3]}\n");
  GivesAnywhere(lists + "{token_batch: {tokens: 6}}", 0, "");
  GivesAnywhere(lists + "{token_batch: {tokens: 6}}", 1, "[[]]\n");
  GivesAnywhere("{token_batch: {tokens: 6}}, {repeat: 2}", 4,
                "[0,1,2]\n[3]\n[0,1,2]\n[3]\n");
  EXPECT_THAT(
      LinesOf("[" + lists + "{token_batch: {tokens: 2}}]", 8, 100),
      ::testing::AllOf(::testing::StartsWith("[[0],[1]]\n"),
                       HasSubstr("an element of 3 tokens does not fit 2")));
}

// Returns a row as GivesAnywhere prints it.
std::string Row(const std::string& x, const std::string& segments,
                const std::string& positions) {
  return "{\"x\":[" + x + "],\"segment_ids\":[" + segments +
         "],\"positions\":[" + positions + "]}\n";
}
const char* const kLists = "{map: 'List(x % 4)'}, ";

TEST(Pack, BestFitTakesTheOldestAndThenTheLongestThatFits) {
  const std::string lists = kLists;
  GivesAnywhere(lists + "{pack: 4}", 5,
                Row("3,3,3,1", "2,2,2,3", "0,1,2,0") +
                    Row("2,2,0,0", "1,1,0,0", "0,1,0,0"));
  GivesAnywhere(lists + "{pack: {length: 4, window: 1}}", 4,
                Row("1,0,0,0", "2,0,0,0", "0,0,0,0") +
                    Row("2,2,0,0", "1,1,0,0", "0,1,0,0") +
                    Row("3,3,3,0", "1,1,1,0", "0,1,2,0"));
  GivesAnywhere(lists + "{pack: 4}", 0, "");
  GivesAnywhere(lists + "{pack: {length: 2, values: {x: 7}}}", 1,
                Row("7,7", "0,0", "0,0"));
  GivesAnywhere("{skip: 1}, " + lists + "{pack: {length: 4, sequences: 1}}", 3,
                Row("1,0,0,0", "1,0,0,0", "0,0,0,0") +
                    Row("2,2,0,0", "1,1,0,0", "0,1,0,0"));
}

TEST(Pack, FirstFitTakesTheFirstOpenRowWithRoom) {
  const std::string lists = kLists;
  GivesAnywhere(lists + "{pack: {length: 4, method: first_fit}}", 5,
                Row("1,2,2,0", "2,3,3,0", "0,0,1,0") +
                    Row("3,3,3,0", "1,1,1,0", "0,1,2,0"));
  GivesAnywhere(
      "{skip: 1}, " + lists + "{pack: {length: 4, method: first_fit, bins: 2}}",
      6,
      Row("1,2,2,5", "1,2,2,4", "0,0,1,0") +
          Row("3,3,3,0", "1,1,1,0", "0,1,2,0"));
  GivesAnywhere(lists + "{pack: {length: 4, method: first_fit, align: 2}}", 4,
                Row("1,0,2,2", "2,0,3,3", "0,0,0,1") +
                    Row("3,3,3,0", "1,1,1,0", "0,1,2,0"));
}

TEST(Pack, ConcatenateCutsWhereARowEnds) {
  GivesAnywhere(
      kLists + std::string("{pack: {length: 4, method: concatenate}}"), 5,
      Row("1,2,2,3", "1,2,2,3", "0,0,1,0") +
          Row("3,3,0,0", "1,1,0,0", "0,1,0,0"));
}

TEST(Pack, LongerSequencesAreCutOnDemand) {
  const std::string lists = kLists;
  GivesAnywhere(lists + "{pack: {length: 2, longer: truncate}}", 4,
                Row("2,2", "2,2", "0,1") + Row("1,0", "1,0", "0,0") +
                    Row("3,3", "1,1", "0,1"));
  GivesAnywhere(lists + "{pack: {length: 2, longer: split}}", 4,
                Row("2,2", "2,2", "0,1") + Row("1,3", "1,2", "0,0") +
                    Row("3,3", "1,1", "0,1"));
  EXPECT_THAT(
      LinesOf("[" + lists + "{pack: 2}]", 4, 100),
      HasSubstr("a sequence of 3 does not fit 2; say longer: truncate"));
}

TEST(Pack, RefusesWhatItCannotJoin) {
  EXPECT_THAT(LinesOf("[{pack: 2}]", 4, 100), HasSubstr("which has no axis"));
  EXPECT_THAT(
      LinesOf("[" + std::string(kLists) + "{pack: {length: 4, bins: 2}}]", 4,
              100),
      HasSubstr("bins is an option of method: first_fit"));
  EXPECT_THAT(
      LinesOf("[" + std::string(kLists) +
                  "{pack: {length: 4, method: concatenate, longer: split, "
                  "sequences: 2}}]",
              4, 100),
      HasSubstr("concatenate cuts sequences where a row ends"));
}

// All rows of a flow may have one shape, and so may the rows in its token.
TEST(HeldRows, MayHaveOneShapeWhereTheSpecLeavesItOpen) {
  const auto spec = [](DType dtype, int64_t dim) {
    return ElementSpec{{{"x", dtype, {dim}}}};
  };
  const std::vector<int64_t> items = {1, 2, 3, 4};
  const Chunk held{std::make_shared<const ElementSpec>(spec(DType::kInt64, 2)),
                   2,
                   {MakeColumn(items, {2})}};
  EXPECT_TRUE(RowsOf(held, spec(DType::kInt64, 2)));
  EXPECT_TRUE(RowsOf(held, spec(DType::kInt64, kUnknownDim)));
  EXPECT_FALSE(RowsOf(held, spec(DType::kInt64, 3)));
  EXPECT_FALSE(RowsOf(held, spec(DType::kFloat64, kUnknownDim)));
}

}  // namespace
}  // namespace feedmill

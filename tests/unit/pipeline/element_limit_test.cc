// Elements that are too large are errors of their positions, with the step, the
// size and the limit. Rows that are only too large together are computed in
// smaller groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/chunk/jsonl.h"
#include "core/dataset/source_types.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/process/process_quota.h"
#include "core/sources/field_inference.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kTestedLimit = kElementBytesLeast;  // 8 MiB
constexpr uint64_t kMiB = uint64_t{1} << 20;

struct LimitedRead {
  std::vector<std::string> lines;
  std::vector<std::string> skipped;  // their error texts
  absl::Status status;

  std::string error() const {
    return std::string(status.message().data(), status.message().size());
  }
};

class ElementLimit : public ::testing::Test {
 protected:
  LimitedRead ReadAll(const std::string& yaml, size_t piece_bytes = 512 << 10,
                      uint64_t limit = kTestedLimit) const {
    LimitedRead out;
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    EXPECT_TRUE(graph.ok()) << yaml << "\n" << graph.status();
    if (!graph.ok()) return out;
    LocalSequenceOptions options;
    options.threads = 2;
    options.piece_bytes = piece_bytes;
    options.element_bytes_max = limit;
    options.on_skipped = [&out](const std::string&,
                                const SkippedElement& skipped) {
      out.skipped.push_back(skipped.error);
      return absl::OkStatus();
    };
    const auto reader = LocalReader::Make(
        *graph, std::make_shared<const FunctionRegistry>(BuiltinFunctions()),
        options);
    out.status = reader.status();
    while (out.status.ok()) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      out.status = chunk.status();
      if (!chunk.ok() || !*chunk) break;
      for (size_t row = 0; row < (*chunk)->rows; ++row) {
        AppendJson(**chunk, row, out.lines.emplace_back());
      }
    }
    return out;
  }

  // Expects that the first element is an error with `step` and `size`.
  void ExpectTooLarge(const std::string& yaml, const std::string& step,
                      const std::string& size, size_t elements_before = 0) {
    for (const size_t piece_bytes : {size_t{64} << 10, size_t{512} << 10}) {
      const LimitedRead read = ReadAll(yaml, piece_bytes);
      EXPECT_EQ(read.status.code(), absl::StatusCode::kResourceExhausted)
          << yaml << read.status;
      EXPECT_THAT(read.error(), AllOf(HasSubstr(step), HasSubstr(size),
                                      HasSubstr("the limit is 8.0 MiB")))
          << yaml;
      EXPECT_THAT(read.lines, SizeIs(elements_before)) << yaml;
    }
  }

  const TestFolder folder_;
};

TEST_F(ElementLimit, BatchesOfAnySizeAreErrorsOfTheirPositions) {
  const std::string source = "source: {range: {stop: 4294967296}}\nsteps:\n";
  const std::string seed = "options: {seed: 1}\n";
  ExpectTooLarge(source + "  - batch: 1100000\n" + seed, "steps[0] batch",
                 "8.4 MiB");
  ExpectTooLarge(source + "  - batch: {size: 4294967296}\n" + seed,
                 "steps[0] batch", "32.0 GiB");
  ExpectTooLarge(source + "  - shuffle\n  - batch: {size: 4294967296}\n" + seed,
                 "steps[1] batch", "32.0 GiB");
  ExpectTooLarge(
      source + "  - map: 'full([2000], x)'\n  - batch: {size: 1000000}\n" +
          seed,
      "steps[1] batch", "14.9 GiB");
  // After a filter, the reader batches.
  ExpectTooLarge(source + "  - filter: 'x >= 0'\n  - batch: 1100000\n" + seed,
                 "steps[1] batch", "MiB");
  ExpectTooLarge(
      source + "  - filter: 'x >= 0'\n  - batch: {size: 4294967296}\n" + seed,
      "steps[1] batch", "MiB");
}

TEST_F(ElementLimit, ValuesOfExpressionsAreErrorsOfTheirSteps) {
  const std::string source = "source: {range: {stop: 3}}\nsteps:\n";
  const std::string seed = "options: {seed: 1}\n";
  ExpectTooLarge(source + "  - map: 'full([1100000], x)'\n" + seed,
                 "steps[0] map", "8.4 MiB");
  ExpectTooLarge(source + "  - map: 'sum(full([268435456], x))'\n" + seed,
                 "steps[0] map", "2.0 GiB");
  ExpectTooLarge(source +
                     "  - map: 'x + 1'\n"
                     "  - map: 'sum(reshape(full([2000], x), [2000, 1]) + "
                     "full([2000], x))'\n" +
                     seed,
                 "steps[1] map", "30.5 MiB");
  ExpectTooLarge(
      source + "  - map: 'one_hot(full([1000], x), 16777216)'\n" + seed,
      "steps[0] map", "62.5 GiB");
  ExpectTooLarge(source + "  - filter: 'sum(full([1100000], x)) >= 0'\n" + seed,
                 "steps[0] filter", "8.4 MiB");
  ExpectTooLarge(source +
                     "  - filter: 'x >= 0'\n  - batch: 1\n"
                     "  - map: 'full([1100000], 1)'\n" +
                     seed,
                 "steps[2] map", "8.4 MiB");
}

TEST_F(ElementLimit, ComponentsThatAreTooLargeTogetherAreAnError) {
  ExpectTooLarge(
      "source: {range: {stop: 3}}\nsteps:\n"
      "  - map: {a: 'full([600000], x)', b: 'full([600000], x)'}\n"
      "options: {seed: 1}\n",
      "steps[0] map", "9.2 MiB");
}

TEST_F(ElementLimit, MakesElementsOfExactlyTheLimit) {
  for (const std::string steps :
       {"  - map: 'full([1048576], x)'\n", "  - batch: 1048576\n  - take: 3\n",
        "  - filter: 'x >= 0'\n  - batch: 1048576\n  - take: 3\n"}) {
    const bool map = steps.find("map") != std::string::npos;
    const LimitedRead read =
        ReadAll("source: {range: {stop: " + std::string(map ? "3" : "4000000") +
                "}}\nsteps:\n" + steps + "options: {seed: 1}\n");
    EXPECT_TRUE(read.status.ok()) << steps << read.status;
    EXPECT_THAT(read.lines, SizeIs(3)) << steps;
  }
}

TEST_F(ElementLimit, RowsThatAreOnlyTooLargeTogetherAreMadeFewerAtATime) {
  // 320 KB per row, 500 rows per block; and the same in the reader.
  for (const std::string before :
       {"", "  - filter: 'x >= 0'\n  - take: 9999\n"}) {
    const std::string yaml = "source: {range: {stop: 500}}\nsteps:\n" + before +
                             "  - map: 'sum(full([40000], x))'\n"
                             "options: {seed: 1}\n";
    const LimitedRead read = ReadAll(yaml);
    EXPECT_TRUE(read.status.ok()) << yaml << read.status;
    ASSERT_THAT(read.lines, SizeIs(500)) << yaml;
    for (size_t k = 0; k < read.lines.size(); ++k) {
      ASSERT_EQ(read.lines[k], std::to_string(40000 * k)) << yaml;
    }
  }
}

TEST_F(ElementLimit, ElementsBeforeOneThatIsTooLargeCome) {
  std::string text;
  for (int k = 0; k < 100; ++k) text += std::to_string(k) + "\n";
  folder_.Write("x.txt", text + std::string(9'000'000, 'a') + "\nlast\n");
  ExpectTooLarge("source: {text: {files: x.txt}}\noptions: {seed: 1}\n",
                 "x.txt", "MiB", 100);
  std::string records;
  for (int k = 0; k < 100; ++k) records += TfRecordFile({std::to_string(k)});
  records += TfRecordFile({std::string(9'000'000, 'a')});
  folder_.Write("x.tfrecord", records + TfRecordFile({"last"}));
  const std::string source = "source: {tfrecord: {files: x.tfrecord}}\n";
  ExpectTooLarge(source + "options: {seed: 1}\n", "x.tfrecord: record 100",
                 "MiB", 100);
}

TEST_F(ElementLimit, OnErrorLeavesOutWhatIsTooLarge) {
  std::string records;
  for (int k = 0; k < 20; ++k) {
    records += TfRecordFile(
        {k % 5 == 3 ? std::string(9'000'000, 'a') : std::to_string(k)});
  }
  folder_.Write("x.tfrecord", records);
  for (const size_t piece_bytes : {size_t{1}, size_t{512} << 10}) {
    const LimitedRead read = ReadAll(
        "source: {tfrecord: {files: x.tfrecord}}\nsteps:\n"
        "  - map: 'length(x)'\n  - on_error: skip\noptions: {seed: 1}\n",
        piece_bytes);
    EXPECT_TRUE(read.status.ok()) << read.status;
    EXPECT_THAT(read.lines, SizeIs(16));
    EXPECT_THAT(read.skipped, SizeIs(4));
    for (const std::string& error : read.skipped) {
      EXPECT_THAT(error, HasSubstr("the limit is 8.0 MiB"));
    }
  }
}

TEST_F(ElementLimit, StepsThatHoldRowsRefuseThemBeforeTheyHoldAll) {
  const std::string source =
      "source: {range: {stop: 1000000000}}\nsteps:\n  - filter: 'x >= 0'\n";
  const std::string seed = "options: {seed: 1}\n";
  ExpectTooLarge(source + "  - window: {size: 100000000}\n" + seed,
                 "steps[1] window", "MiB");
  ExpectTooLarge(source + "  - window: {size: 1200000, shift: 1}\n" + seed,
                 "steps[1] window", "MiB");
  ExpectTooLarge(source +
                     "  - map: '[x, x]'\n"
                     "  - padded_batch: {size: 4, shapes: {x: "
                     "[100000000]}}\n" +
                     seed,
                 "steps[2] padded_batch", "3.0 GiB");
  ExpectTooLarge(
      source + "  - map: '[x, x]'\n  - pack: {length: 2000000000}\n" + seed,
      "steps[2] pack", "MiB");
  ExpectTooLarge(source +
                     "  - map: '[x, x]'\n  - bucket_by_sequence_length: "
                     "{component: x, boundaries: [5], batch_sizes: "
                     "[100000000, 4]}\n" +
                     seed,
                 "steps[2] bucket_by_sequence_length", "MiB");
}

TEST_F(ElementLimit, AWindowShuffleHoldsMoreThanAnElement) {
  const LimitedRead read = ReadAll(
      "source: {range: {stop: 300}}\nsteps:\n  - filter: 'x >= 0'\n"
      "  - map: 'full([10000], x)'\n  - take: 300\n"
      "  - shuffle: {window: 200, seed: 3}\n  - map: 'sum(x)'\n"
      "options: {seed: 1}\n");
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.lines, SizeIs(300));
}

TEST_F(ElementLimit, InputsAndCachesNameTheirOwnSteps) {
  const std::string seed = "options: {seed: 1}\n";
  ExpectTooLarge(
      "source:\n  zip:\n    - {source: {range: {stop: 3}}, steps: [{map: {a: "
      "'full([1100000], x)'}}]}\n    - {source: {range: {stop: 3}}, steps: "
      "[{map: {b: x}}]}\n" +
          seed,
      "steps[0] map", "8.4 MiB");
  ExpectTooLarge(
      "source:\n  concatenate:\n    - {source: {range: {stop: 3}}, steps: "
      "[{filter: 'x >= 0'}, {batch: 10}, {map: 'full([1100000], 1)'}]}\n" +
          seed,
      "steps[2] map", "8.4 MiB");
  ExpectTooLarge(
      "source: {range: {stop: 2000000}}\nsteps:\n  - batch: 1100000\n"
      "  - cache\n" +
          seed,
      "steps[0] batch", "8.4 MiB");
}

TEST_F(ElementLimit, ValuesThatNoMemoryHoldsAreRefusedWhenThePipelineIsBuilt) {
  const auto graph = ParseGraphYaml(
      "source: {range: {stop: 3}}\nsteps:\n"
      "  - map: 'full([268435456], x)'\n"
      "  - map: 'reshape(x, [268435456, 1]) + x'\n",
      "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto reader = LocalReader::Make(
      *graph, std::make_shared<const FunctionRegistry>(BuiltinFunctions()), {});
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(reader.status().message().data(),
                          reader.status().message().size()),
              AllOf(HasSubstr("steps[1] map"), HasSubstr("takes 512.0 PiB"),
                    HasSubstr("256.0 TiB")));
}

TEST(ProcessQuota, TheDefaultLimitFollowsTheMemory) {
  EXPECT_GT(AvailableMemory(), uint64_t{1} << 20);
  const auto limit = ElementBytesMax(0);
  ASSERT_TRUE(limit.ok()) << limit.status();
  EXPECT_GE(*limit, kElementBytesLeast);
  EXPECT_LE(*limit, std::max(kElementBytesLeast, AvailableMemory() / 8));
  EXPECT_LE(*limit, uint64_t{1} << 30);
}

TEST(ProcessQuota, LimitsThatStepsCannotWorkWithAreRefused) {
  EXPECT_EQ(*ElementBytesMax(kElementBytesLeast), kElementBytesLeast);
  EXPECT_EQ(*ElementBytesMax(uint64_t{1} << 40), uint64_t{1} << 40);
  EXPECT_EQ(ElementBytesMax(kElementBytesLeast - 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      ElementBytesMax(uint64_t{2} << 30, uint64_t{1} << 30).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST(ProcessQuota, MemoryForElementsGrowsWithTheThreads) {
  EXPECT_EQ(ElementMemory(3, 16), 3u);
  EXPECT_EQ(ElementMemory(0, 1), 256 * kMiB);
  EXPECT_EQ(ElementMemory(0, 4), 256 * kMiB);
  const uint64_t most = std::max(256 * kMiB, AvailableMemory() / 8);
  EXPECT_EQ(ElementMemory(0, 16), std::min(1024 * kMiB, most));
  EXPECT_EQ(ElementMemory(0, 4096), std::min(4096 * 64 * kMiB, most));
}

TEST(ProcessQuota, MemoryIsTheLeastOfAllGroups) {
  const TestFolder root;
  root.Write("memory.max", "max\n");
  root.Write("a/memory.max", "3000000\n");
  root.Write("a/b/memory.max", "max\n");
  root.Write("memory/c/memory.limit_in_bytes", "2000000\n");
  root.Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(CgroupMemory("0::/a/b\n", root.path()), uint64_t{3'000'000});
  EXPECT_EQ(CgroupMemory("0::/\n", root.path()), std::nullopt);
  EXPECT_EQ(CgroupMemory("0::/a\n7:memory:/c\n3:cpu:/\n", root.path()),
            uint64_t{2'000'000});
  EXPECT_EQ(CgroupMemory("7:memory:/\n", root.path()), std::nullopt);
}

}  // namespace
}  // namespace feedmill

// Fused steps give the same results as single steps, which a profiled read
// runs.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/vector_target.h"
#include "core/chunk/jsonl.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/read_profile.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

struct FusedRead {
  std::string rows;  // as JSON lines
  absl::Status error;

  friend bool operator==(const FusedRead&, const FusedRead&) = default;
};

FusedRead ReadAll(const std::string& text, bool fused) {
  FusedRead read;
  const auto graph = ParseGraphYaml(text, "");
  if (!graph.ok()) return {"", graph.status()};
  LocalSequenceOptions options;
  options.threads = 1;
  if (!fused) options.profile = std::make_shared<ReadProfile>();
  auto reader = LocalReader::Make(
      *graph, std::make_shared<const FunctionRegistry>(BuiltinFunctions()),
      options);
  if (!reader.ok()) return {"", reader.status()};
  while (true) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    if (!chunk.ok()) {
      read.error = chunk.status();
      return read;
    }
    if (!chunk->has_value()) return read;
    for (size_t row = 0; row < (*chunk)->rows; ++row) {
      AppendJson(**chunk, row, read.rows);
      read.rows += '\n';
    }
  }
}

void ExpectSameOf(const std::string& range, const std::string& steps,
                  bool fails = false) {
  const std::string text = "source: {range: " + range + "}\nsteps: [" + steps +
                           "]\noptions: {seed: 3}\n";
  SetLoopTarget(VectorTarget::kBaseline);
  const FusedRead alone = ReadAll(text, /*fused=*/false);
  EXPECT_EQ(alone.error.ok(), !fails) << alone.error;
  EXPECT_FALSE(alone.rows.empty()) << steps;
  std::vector<VectorTarget> targets{VectorTarget::kBaseline};
  if (BestVectorTarget() >= VectorTarget::kAvx2) {
    targets.push_back(VectorTarget::kAvx2);
  }
  if (BestVectorTarget() >= VectorTarget::kAvx512) {
    targets.push_back(VectorTarget::kAvx512);
  }
  for (const VectorTarget target : targets) {
    SetLoopTarget(target);
    const FusedRead together = ReadAll(text, /*fused=*/true);
    EXPECT_TRUE(together == alone)
        << steps << " of " << range << ", target " << static_cast<int>(target)
        << ": " << together.error;
  }
  SetLoopTarget(BestVectorTarget());
}

void ExpectSame(const std::string& steps, int rows, bool fails = false) {
  ExpectSameOf(std::to_string(rows), steps, fails);
}

TEST(FusedItems, GiveWhatTheirStepsGiveAlone) {
  for (const int rows : {1, 63, 64, 1023, 1025, 4097, 9999}) {
    ExpectSame("map: 'x * x + 1', filter: 'x % 5 != 0'", rows);
    // Items of other sizes, conversions, and constants as first operands.
    ExpectSame(
        "map: {a: 'cast(x, int8)', b: '7 - x', c: 'x / 3', d: 'x < 500', "
        "e: 'where(x % 2 == 0, 1.5, cast(x, float32))'}, "
        "filter: 'a % 3 != 1', map: {f: 'clip(a, -5, b)', g: 'b - c', h: 'd', "
        "i: 'e * 2'}, filter: 'h or i > 9', map: {j: 'f', k: 'f + g', l: 'i'}",
        rows);
    // A component used twice, one from before, a constant one.
    ExpectSame(
        "map: {a: 'x', b: 'x + 1', c: 'x + 1'}, filter: 'b > 0', "
        "map: {a: 'a', b: 'b', c: 'b', d: '3'}",
        rows);
    // Rows of several items; byte strings and vectors that pass a filter.
    ExpectSame(
        "map: {v: 'full([3], x) * 2 + 1', s: 'full([2], 1)', x: 'x'}, "
        "filter: 'x % 7 < 3', map: {w: 'v - 1', s: 's', y: 'x * 2'}",
        rows);
  }
}

// Numbers that only fused calls read are generated where they are read.
TEST(FusedItems, ReadNumbersThatAreInNoColumn) {
  for (const char* const range :
       {"{start: -9000, stop: 9000, step: 7}", "{stop: -5000, step: -1}",
        "{start: 9223372036854770000, stop: 9223372036854775807, step: 3}"}) {
    ExpectSameOf(range, "map: 'x * x + 1', filter: 'x % 5 != 0'");
    ExpectSameOf(range, "filter: 'x % 3 != 0'");  // keeps the numbers
    ExpectSameOf(range, "map: {a: 'cast(x, float32) / 3', b: 'x'}");
    ExpectSameOf(range, "filter: 'x % 3 != 0', map: 'full([2], x) + x'");
    ExpectSameOf(range, "filter: 'random.uniform() < 0.5', map: 'x - 1'");
    ExpectSameOf(range, "shuffle, map: 'x + 1'");
    ExpectSameOf(range, "map: 'x + 1', batch: 100, map: 'x * 2'");
  }
  ExpectSameOf("{start: 1, stop: 20000, step: 2}", "map: '7 // (x - 9999)'",
               /*fails=*/true);
}

TEST(FusedItems, NothingIsKept) {
  ExpectSame("map: 'x + 1', filter: 'x > 9998', map: 'x * 2'", 9999);
}

TEST(FusedItems, AnErrorBelongsToItsRow) {
  ExpectSame("map: {a: '100 // (x - 5000)', b: 'x'}, filter: 'b % 2 == 0'",
             9999, /*fails=*/true);
}

}  // namespace
}  // namespace feedmill

// The reading thread and the threads that make pieces.
#include "tests/unit/pipeline/local_reader.h"

#include <gtest/gtest.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <cfenv>
#include <memory>
#include <string>
#include <vector>

#include "core/chunk/order_hash.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "tests/unit/pipeline/builtin_registry.h"

namespace feedmill {
namespace {

Graph Parse(const std::string& yaml) {
  const auto graph = ParseGraphYaml(yaml, "");
  EXPECT_TRUE(graph.ok()) << yaml << "\n" << graph.status();
  return graph.ok() ? *graph : Graph();
}

std::string HashOf(const std::vector<Chunk>& chunks) {
  OrderHash hash;
  for (const Chunk& chunk : chunks) hash.Add(chunk, 0, chunk.rows);
  return hash.Hex();
}

TEST(LocalReader, DrawsASeedOfItsOwn) {
  const Graph graph = Parse("source: {range: {stop: 3}}\n");
  const auto a = LocalReader::Make(graph, BuiltinRegistry(), {});
  const auto b = LocalReader::Make(graph, BuiltinRegistry(), {});
  EXPECT_NE((*a)->seed(), (*b)->seed());
}

// Returns the seed of rank 1 of 2, or 1 if it is refused for want of one.
uint64_t SeedOfRank(const std::string& yaml) {
  LocalSequenceOptions options;
  options.share = {.rank = 1, .ranks = 2};
  const auto reader =
      LocalReader::Make(Parse(yaml), BuiltinRegistry(), options);
  if (reader.ok()) return (*reader)->seed();
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(reader.status().message().find("rank 1 of 2"), std::string::npos)
      << reader.status();
  EXPECT_NE(reader.status().message().find("options: {seed: 7}"),
            std::string::npos)
      << reader.status();
  return 1;
}

TEST(LocalReader, RanksDrawNoSeeds) {
  const std::string range = "source: {range: {stop: 8}}\nsteps:\n";
  for (const char* random :
       {"shuffle", "shuffle: {window: 2}", "map: 'random.uniform()'",
        "filter: 'random.uniform() < 0.5'"}) {
    EXPECT_EQ(SeedOfRank(range + "  - " + random + "\n"), 1) << random;
    EXPECT_EQ(SeedOfRank(range + "  - " + random + "\noptions: {seed: 5}\n"), 5)
        << random;
  }
  EXPECT_EQ(SeedOfRank("source: {concatenate: [{source: {range: 3}, steps: "
                       "[shuffle]}, {source: {range: 3}}]}\n"),
            1);
  // The seed has no effect. All ranks have the same one, so that their tokens
  // can be merged.
  EXPECT_EQ(SeedOfRank(range + "  - map: 'x + 1'\n"), 0);
  EXPECT_EQ(SeedOfRank(range + "  - shuffle: {seed: 3}\n"), 0);
}

TEST(LocalReader, AWaitEndsAtItsDeadline) {
  const auto reader =
      LocalReader::Make(Parse("source: {range: {stop: 1000000000000}}\nsteps:\n"
                              "  - filter: 'x < 0'\n"),
                        BuiltinRegistry(), {});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->Next(absl::InfinitePast()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ((*reader)->Next(absl::UnixEpoch()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

// The reading thread makes pieces while it would wait. Pieces that it has
// reserved for itself are still made if it no longer waits.
TEST(LocalReader, ReservedPiecesAreMadeForCallsThatDoNotWait) {
  LocalSequenceOptions options;
  options.threads = 1;
  const auto reader = LocalReader::Make(
      Parse("source: {range: {stop: 3000000}}\nsteps:\n  - map: 'x + 1'\n"),
      BuiltinRegistry(), options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  size_t rows = 0;
  while (rows < 3000000) {
    const auto chunk = (*reader)->Next(rows < 1000000 ? absl::InfiniteFuture()
                                                      : absl::InfinitePast());
    if (absl::IsDeadlineExceeded(chunk.status())) continue;
    ASSERT_TRUE(chunk.ok() && chunk->has_value()) << chunk.status();
    rows += (*chunk)->rows;
  }
}

// Returns the hash of what the steps make of 300,000 numbers. `set` changes the
// modes of this thread, before or after the reader is made.
template <class Set>
std::string HashInModes(const std::string& steps, const Set& set, bool before) {
  std::fenv_t usual;
  std::fegetenv(&usual);
  if (before) set();
  LocalSequenceOptions options;
  options.threads = 1;
  const auto reader = LocalReader::Make(
      Parse("source: {range: {stop: 300000}}\nsteps:\n" + steps),
      BuiltinRegistry(), options);
  if (!reader.ok()) return reader.status().ToString();
  set();
  const int rounding = std::fegetround();
  std::vector<Chunk> chunks;
  while (true) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    EXPECT_EQ(std::fegetround(), rounding);
    if (!chunk.ok() || !chunk->has_value()) break;
    chunks.push_back(**chunk);
  }
  std::fesetenv(&usual);
  return HashOf(chunks);
}

// Sets the processor to take subnormal numbers as zeros, and to make none.
void FlushSubnormals() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040U);
#elif defined(__aarch64__)
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | uint64_t{1} << 24));
#endif
}

TEST(LocalReader, HasTheDefaultModesOfFloatingPointNumbers) {
  for (const std::string& steps :
       {std::string("  - map: 'cast(x, float64) / 3'\n"),
        std::string("  - map: '1e-310 * cast(x, float64)'\n"),
        // In the client, behind a step that changes the count.
        std::string("  - flat_map: '[x, x]'\n  - filter: '1e-310 * cast(x, "
                    "float64) > 0'\n")}) {
    const std::string usual = HashInModes(
        steps, [] {}, false);
    for (const bool before : {false, true}) {
      EXPECT_EQ(HashInModes(
                    steps, [] { std::fesetround(FE_UPWARD); }, before),
                usual)
          << steps;
      EXPECT_EQ(HashInModes(steps, FlushSubnormals, before), usual) << steps;
    }
  }
}

}  // namespace
}  // namespace feedmill

// The reading thread and the threads that make pieces.
#include "core/pipeline/local_reader.h"

#include <gtest/gtest.h>

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
  LocalReaderOptions options;
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

// Returns the hash of 10^6 thirds, read by a thread with that rounding mode.
std::string Thirds(int rounding) {
  LocalReaderOptions options;
  options.threads = 1;
  const auto reader =
      LocalReader::Make(Parse("source: {range: {stop: 1000000}}\nsteps:\n"
                              "  - map: 'cast(x, float64) / 3'\n"),
                        BuiltinRegistry(), options);
  if (!reader.ok()) return reader.status().ToString();
  std::vector<Chunk> chunks;
  const int before = std::fegetround();
  std::fesetround(rounding);
  while (true) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    EXPECT_EQ(std::fegetround(), rounding);
    if (!chunk.ok() || !chunk->has_value()) break;
    chunks.push_back(**chunk);
  }
  std::fesetround(before);
  return HashOf(chunks);
}

TEST(LocalReader, DoesNotRoundAsTheThreadThatReads) {
  EXPECT_EQ(Thirds(FE_UPWARD), Thirds(FE_TONEAREST));
}

}  // namespace
}  // namespace feedmill

// Random pipelines: what the product makes, for any number of threads and any
// chunk size, is what the naive interpreter makes.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/chunk/order_hash.h"
#include "core/dataset/graph_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/local_reader.h"
#include "tests/conformance/random_graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill {
namespace {

constexpr size_t kLimit = 200;  // elements compared of an endless pipeline

// FEEDMILL_PIPELINES=FROM-TO widens the run (tools/test --slow: 0-999).
std::pair<uint64_t, uint64_t> Seeds() {
  const char* range = std::getenv("FEEDMILL_PIPELINES");
  if (range == nullptr) return {0, 199};
  const std::string text = range;
  const size_t dash = text.find('-');
  return {std::stoull(text), std::stoull(text.substr(dash + 1))};
}

struct Read {
  std::string hash;
  size_t elements = 0;
  bool failed = false;
};

Read ReadLocal(const Graph& graph,
               std::shared_ptr<const FunctionRegistry> registry, int threads,
               size_t piece_bytes) {
  LocalReaderOptions options;
  options.threads = threads;
  options.piece_bytes = piece_bytes;
  Read read;
  OrderHash hash;
  auto reader = LocalReader::Make(graph, registry, options);
  EXPECT_TRUE(reader.ok()) << reader.status();
  while (reader.ok() && read.elements < kLimit) {
    auto chunk = (*reader)->Next(absl::Now() + absl::Seconds(60));
    if (!chunk.ok()) {
      read.failed = true;
      EXPECT_NE(chunk.status().code(), absl::StatusCode::kDeadlineExceeded);
      break;
    }
    if (!chunk->has_value()) break;
    const size_t rows = std::min((*chunk)->rows, kLimit - read.elements);
    hash.Add(**chunk, 0, rows);
    read.elements += rows;
  }
  read.hash = hash.Hex();
  return read;
}

TEST(RandomPipelines, EqualTheReferenceForAnyThreadsAndChunks) {
  const std::string directory =
      std::filesystem::temp_directory_path() /
      ("feedmill_pipelines_" + std::to_string(getpid()));
  testing::MakeFixtureFiles(directory);
  const auto registry =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  const auto [from, to] = Seeds();
  size_t elements = 0, failing = 0;
  for (uint64_t seed = from; seed <= to; ++seed) {
    const Graph graph = testing::RandomGraph(seed, directory, *registry);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + CanonicalText(graph));
    const reference::Sequence expected =
        reference::Interpret(graph, *graph.options.seed, 0, kLimit);
    const std::string hash = reference::OrderHash(expected.elements);
    elements += expected.elements.size();
    failing += expected.failed;
    const std::pair<int, size_t> settings[] = {
        {1, size_t{1} << 20}, {2, 1}, {4, 100}};
    for (const auto& [threads, piece_bytes] : settings) {
      const Read read = ReadLocal(graph, registry, threads, piece_bytes);
      ASSERT_EQ(read.elements, expected.elements.size()) << threads;
      ASSERT_EQ(read.hash, hash) << threads << " threads";
      if (read.elements < kLimit) {
        ASSERT_EQ(read.failed, expected.failed);
      }
    }
  }
  std::printf("%zu elements, %zu pipelines end in a data error\n", elements,
              failing);
  EXPECT_GT(elements, (to - from) * 5);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace feedmill

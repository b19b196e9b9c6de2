// Batches of byte strings and of ragged rows are copied once, from the records
// to the chunk. A copy of a whole batch needs a block of memory as large as the
// batch: the test counts such blocks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/worker_stage.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"
#include "tests/unit/sources/test_folder.h"

namespace {

std::atomic<size_t> counted_bytes = SIZE_MAX;  // least size of counted blocks
std::atomic<size_t> counted_blocks = 0;

}  // namespace

// Replaces the C library's function in this program. BufferBuilder takes its
// memory from it.
extern "C" void* aligned_alloc(size_t alignment, size_t size) {
  if (size >= counted_bytes) ++counted_blocks;
  return memalign(alignment, size);
}

namespace feedmill {
namespace {

class BatchCopies : public ::testing::Test {
 protected:
  // Makes the first piece of a pipeline, one batch, and returns how many blocks
  // of at least its size it took. Clears `piece` before it counts.
  size_t BlocksAsLargeAsABatch(const std::string& yaml, Piece& piece) const {
    const auto functions =
        std::make_shared<const FunctionRegistry>(BuiltinFunctions());
    const auto analyzed =
        Analyze(*ParseGraphYaml(yaml + "options: {seed: 7}\n", folder_.path()),
                *functions)
            .value();
    const auto manifest =
        std::make_shared<Manifest>(ResolveManifest(*analyzed).value());
    const uint64_t size = SourceSize(*analyzed, *manifest).value();
    const auto plan = Plan::Make(analyzed, size, 7, 0).value();
    const auto stage = WorkerStage::Make(plan, manifest, functions).value();
    const auto scratch = stage->NewScratch();
    const auto run = [&] {
      return stage->Run({0, 0}, {1, 0}, size_t{1} << 20, *scratch).value();
    };
    piece = run();
    const size_t bytes = piece.chunk.columns[0].values.size();
    piece = {};
    counted_blocks = 0;
    counted_bytes = bytes;
    piece = run();
    counted_bytes = SIZE_MAX;
    EXPECT_EQ(piece.chunk.columns[0].values.size(), bytes);
    return counted_blocks;
  }

  TestFolder folder_;
};

TEST_F(BatchCopies, FilesOfBytesAreCopiedOnce) {
  std::string all;
  for (int k = 0; k < 8; ++k) {
    const std::string bytes(1'000'000U + 10'000U * static_cast<size_t>(k),
                            static_cast<char>('a' + k));
    folder_.Write("a" + std::to_string(k) + ".jpg", bytes);
    all += bytes;
  }
  Piece piece;
  EXPECT_EQ(BlocksAsLargeAsABatch(
                "source: {images: {files: [a0.jpg, a1.jpg, a2.jpg, a3.jpg, "
                "a4.jpg, a5.jpg, a6.jpg, a7.jpg]}}\n"
                "steps: [{map: {image: image}}, {batch: 8}]\n",
                piece),
            1u);
  ASSERT_EQ(piece.chunk.rows, 1u);
  const Column& images = piece.chunk.columns[0];
  EXPECT_EQ(images.RowShape(0), Shape{8});
  std::string joined;
  for (int64_t k = 0; k < 8; ++k) joined += images.BytesAt(k);
  EXPECT_TRUE(joined == all);
}

// A batch of more records than a block has.
TEST_F(BatchCopies, RaggedRowsAreCopiedOnce) {
  constexpr size_t kRows = 6000;
  std::string lines;
  for (size_t n = 0; n < kRows; ++n) {
    lines += R"({"ids": [)";
    for (size_t k = 0; k < n % 100; ++k) {
      lines += (k > 0 ? ", " : "") + std::to_string(n);
    }
    lines += "]}\n";
  }
  folder_.Write("ids.jsonl", lines);
  Piece piece;
  EXPECT_EQ(BlocksAsLargeAsABatch(
                "source: {jsonl: {files: ids.jsonl, fields: {ids: "
                "'int64[?]'}}}\nsteps: [shuffle, {ragged_batch: 6000}]\n",
                piece),
            1u);
  ASSERT_EQ(piece.chunk.rows, 1u);
  const auto ids = piece.chunk.columns[0].Items<int64_t>(0);
  const auto offsets = piece.chunk.columns[1].Items<int64_t>(0);
  ASSERT_EQ(offsets.size(), kRows + 1);
  ASSERT_EQ(ids.size(), static_cast<size_t>(offsets.back()));
  EXPECT_EQ(ids.size(), kRows / 100 * (99 * 100 / 2));
  for (size_t row = 0; row < kRows; ++row) {
    // Row n has n % 100 times the number n.
    const auto count = static_cast<size_t>(offsets[row + 1] - offsets[row]);
    if (count == 0) continue;
    const int64_t first = ids[static_cast<size_t>(offsets[row])];
    EXPECT_EQ(static_cast<size_t>(first) % 100, count);
  }
}

}  // namespace
}  // namespace feedmill

// Large columns are computed directly in the memory of a BlockSource, and the
// memory is returned with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "core/chunk/jsonl.h"
#include "core/dataset/analysis.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/worker_stage.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

// Records the blocks that were taken.
class CountedBlocks final : public BlockSource {
 public:
  ~CountedBlocks() override { EXPECT_TRUE(taken_.empty()); }

  std::byte* Take(size_t bytes) override {
    ++takes_;
    auto* const block =
        static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, bytes));
    taken_[block] = bytes;
    return block;
  }
  void Shrink(std::byte* block, size_t, size_t kept) override {
    taken_[block] = kept;
  }
  void Return(std::byte* block, size_t) override {
    EXPECT_EQ(taken_.erase(block), 1u);
    std::free(block);
  }

  bool Holds(const Buffer& buffer) const {
    const auto found = taken_.find(const_cast<std::byte*>(buffer.data()));
    return found != taken_.end() && found->second >= buffer.size();
  }
  size_t takes() const { return takes_; }
  bool empty() const { return taken_.empty(); }

 private:
  std::map<std::byte*, size_t> taken_;
  size_t takes_ = 0;
};

class PlacedColumns : public ::testing::Test {
 protected:
  // Returns the first piece of about 256 KiB of the elements of `yaml`.
  Piece Run(const std::string& yaml,
            const std::shared_ptr<BlockSource>& blocks) {
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
    stage_ = WorkerStage::Make(plan, manifest, functions).value();
    scratch_ = stage_->NewScratch();
    // Warmed up: the second run takes its memory directly.
    EXPECT_TRUE(RunOnce(blocks).ok());
    return RunOnce(blocks).value();
  }

  absl::StatusOr<Piece> RunOnce(const std::shared_ptr<BlockSource>& blocks) {
    scratch_->blocks = blocks;
    auto piece =
        stage_->Run({0, 0}, {1'000'000, 0}, size_t{256} << 10, *scratch_);
    scratch_->blocks.reset();
    return piece;
  }

  // Expects that large columns are placed, with the same elements as in any
  // memory.
  void ExpectPlaced(const std::string& yaml) {
    const auto blocks = std::make_shared<CountedBlocks>();
    {
      const Piece piece = Run(yaml, blocks);
      ASSERT_TRUE(piece.Validate().ok()) << piece.Validate();
      const size_t before = blocks->takes();
      const Piece again = RunOnce(blocks).value();
      size_t large = 0;
      for (const Column& column : again.chunk.columns) {
        for (const Buffer& buffer : {column.values, column.offsets}) {
          if (buffer.size() < BlockSource::kBytesMin) continue;
          ++large;
          EXPECT_TRUE(blocks->Holds(buffer)) << yaml;
        }
      }
      EXPECT_GT(large, 0u) << yaml;
      // Each block was taken once, so nothing moved.
      EXPECT_EQ(blocks->takes() - before, large) << yaml;
      EXPECT_EQ(Lines(again), Lines(Run(yaml, nullptr))) << yaml;
    }
    scratch_.reset();
    EXPECT_TRUE(blocks->empty()) << yaml;
  }

  static std::string Lines(const Piece& piece) {
    std::string lines;
    for (size_t row = 0; row < piece.chunk.rows; ++row) {
      AppendJson(piece.chunk, row, lines);
      lines += '\n';
    }
    return lines;
  }

  TestFolder folder_;
  std::shared_ptr<const WorkerStage> stage_;
  std::unique_ptr<WorkerStage::Scratch> scratch_;
};

TEST_F(PlacedColumns, HoldResultsOfCalls) {
  ExpectPlaced(
      "source: {range: {stop: 100000}}\n"
      "steps: [map: 'full([100], cast(x % 251, uint8))']\n");
  ExpectPlaced(
      "source: {range: {stop: 100000}}\n"
      "steps: [map: {a: 'x * x', b: 'x + 0.5'}]\n");
}

TEST_F(PlacedColumns, HoldResultsOfCallsBehindFilters) {
  ExpectPlaced(
      "source: {range: {stop: 100000}}\n"
      "steps: [filter: 'x % 3 == 1', map: 'full([40], x)']\n");
}

TEST_F(PlacedColumns, HoldRecordsThatPassThrough) {
  // A piece holds one, two or many of these records.
  for (const size_t size : {200'000U, 131'072U, 100U}) {
    std::string bytes;
    while (bytes.size() < 600'000) {
      for (size_t k = 0; k < size; ++k) bytes += static_cast<char>(k * 7 / 3);
    }
    folder_.Write("some.bin", bytes);
    ExpectPlaced("source: {fixed_length: {files: some.bin, record_bytes: " +
                 std::to_string(size) + "}}\n");
  }
}

TEST_F(PlacedColumns, HoldLinesThatPassThrough) {
  std::string text;
  for (int k = 0; k < 10'000; ++k) {
    text += std::string(30, 'x') + std::to_string(k * 977) + "\n";
  }
  folder_.Write("some.txt", text);
  ExpectPlaced("source: {text: {files: some.txt}}\n");
}

}  // namespace
}  // namespace feedmill

// Rows stored in a file, for all kinds of columns.
#include "core/pipeline/stored_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/chunk/chunk_builder.h"
#include "core/chunk/jsonl.h"
#include "core/pipeline/cache_folder.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

constexpr char kStoredKey[] = "0123456789abcdef0123456789abcdef";

std::shared_ptr<const ElementSpec> SpecOfAllKinds() {
  auto spec = std::make_shared<ElementSpec>();
  spec->components = {{"n", DType::kInt64, {}},
                      {"small", DType::kUInt8, {3}},
                      {"flag", DType::kBool, {}},
                      {"text", DType::kBytes, {}},
                      {"words", DType::kBytes, {kUnknownDim}},
                      {"ragged", DType::kInt32, {kUnknownDim, 2}},
                      {"maybe", DType::kFloat64, {kUnknownDim}}};
  return spec;
}

// Makes rows with up to `item_max` items; rows of "maybe" have one shape.
Chunk RandomRows(size_t count, size_t item_max, std::mt19937_64& random) {
  ChunkBuilder builder(SpecOfAllKinds());
  const std::string letters(item_max + 1, 'q');
  for (size_t row = 0; row < count; ++row) {
    const auto number = static_cast<int64_t>(random());
    builder.AppendDense(0, {}, &number, 1);
    const std::vector<uint8_t> small = {static_cast<uint8_t>(row), 1, 2};
    builder.AppendDense(1, {3}, small.data(), 1);
    const uint8_t flag = row % 2;
    builder.AppendDense(2, {}, &flag, 1);
    builder.AppendBytes(
        3, std::string_view(letters).substr(0, random() % (item_max + 1)));
    const size_t words = random() % 4;
    builder.AppendBytesRow(4, {static_cast<int64_t>(words)},
                           std::vector<std::string_view>(words, "word"));
    const auto pairs = static_cast<int64_t>(random() % (item_max + 1));
    const std::vector<int32_t> items(static_cast<size_t>(pairs) * 2,
                                     static_cast<int32_t>(row));
    builder.AppendDense(5, {pairs, 2}, items.data(), 1);
    const std::vector<double> fixed(item_max % 5, 0.5);
    builder.AppendDense(6, {static_cast<int64_t>(fixed.size())}, fixed.data(),
                        1);
    builder.FinishRows(1);
  }
  return std::move(builder).Finish();
}

std::vector<std::string> JsonLines(const Chunk& chunk) {
  std::vector<std::string> lines;
  for (size_t row = 0; row < chunk.rows; ++row) {
    AppendJson(chunk, row, lines.emplace_back());
  }
  return lines;
}

TEST(StoredRows, AreWhatWasWritten) {
  const TestFolder folder;
  CacheFolder cache(folder.path(), kStoredKey, SpecOfAllKinds());
  std::mt19937_64 random(11);
  for (const size_t count : {size_t{1}, size_t{7}, size_t{600}}) {
    for (const size_t item_max : {size_t{0}, size_t{3}, size_t{900}}) {
      Chunk rows = RandomRows(count, item_max, random);
      const std::vector<std::string> expected = JsonLines(rows);
      CacheSegment segment;
      segment.positions.resize(count);
      segment.rows.chunk = std::make_shared<const Chunk>(std::move(rows));
      const auto written = cache.Write({segment});
      ASSERT_TRUE(written.ok()) << written.status();
      const StoredRows& stored = *(*written)[0].rows.stored;
      EXPECT_EQ(stored.rows, count);
      EXPECT_EQ(stored.bytes, segment.rows.bytes());
      StoredReader reader;
      reader.Begin();
      // Rows of many values take long to print.
      const int trials = count * item_max > 10'000 ? 10 : 200;
      for (int trial = 0; trial < trials; ++trial) {
        const uint64_t begin = random() % count;
        const uint64_t end = begin + random() % (count - begin + 1);
        const auto read = reader.Read(stored, begin, end, nullptr);
        ASSERT_TRUE(read.ok()) << read.status();
        ASSERT_TRUE(read->Validate().ok()) << read->Validate();
        ASSERT_EQ(JsonLines(*read),
                  std::vector<std::string>(
                      expected.begin() + static_cast<ptrdiff_t>(begin),
                      expected.begin() + static_cast<ptrdiff_t>(end)));
      }
    }
  }
}

TEST(StoredRows, ReadBackASlice) {
  const TestFolder folder;
  CacheFolder cache(folder.path(), kStoredKey, SpecOfAllKinds());
  std::mt19937_64 random(12);
  const Chunk whole = RandomRows(50, 40, random);
  CacheSegment segment;
  segment.positions.resize(20);
  segment.rows.chunk = std::make_shared<const Chunk>(whole.Slice(20, 40));
  const auto written = cache.Write({segment});
  ASSERT_TRUE(written.ok()) << written.status();
  StoredReader reader;
  const auto read = reader.Read(*(*written)[0].rows.stored, 3, 20, nullptr);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(JsonLines(*read), JsonLines(whole.Slice(23, 40)));
}

TEST(StoredRows, AnyByteThatDiffersIsFoundOut) {
  const TestFolder folder;
  CacheFolder cache(folder.path(), kStoredKey, SpecOfAllKinds());
  std::mt19937_64 random(13);
  CacheSegment segment;
  segment.positions.resize(30);
  segment.rows.chunk =
      std::make_shared<const Chunk>(RandomRows(30, 20, random));
  const auto written = cache.Write({segment});
  ASSERT_TRUE(written.ok()) << written.status();
  const StoredRows& stored = *(*written)[0].rows.stored;
  const std::vector<std::string> expected = JsonLines(*segment.rows.chunk);
  std::fstream file(stored.file->path(),
                    std::ios::binary | std::ios::in | std::ios::out);
  StoredReader reader;
  for (const StoredRows::StoredColumn& column : stored.columns) {
    for (const auto& [at, size] : column.places) {
      for (uint64_t byte = at; byte < at + size; ++byte) {
        file.seekg(static_cast<std::streamoff>(byte));
        const int was = file.get();
        const int flipped = was ^ (1 << random() % 8);
        file.seekp(static_cast<std::streamoff>(byte));
        file.put(static_cast<char>(flipped)).flush();
        reader.Begin();
        const auto damaged = reader.Read(stored, 0, 30, nullptr);
        ASSERT_TRUE(absl::IsDataLoss(damaged.status())) << byte;
        file.seekp(static_cast<std::streamoff>(byte));
        file.put(static_cast<char>(was)).flush();
      }
    }
  }
  const auto sound = reader.Read(stored, 0, 30, nullptr);
  ASSERT_TRUE(sound.ok()) << sound.status();
  EXPECT_EQ(JsonLines(*sound), expected);
}

}  // namespace
}  // namespace feedmill

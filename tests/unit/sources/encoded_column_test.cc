#include "core/sources/encoded_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/sources/record_source.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using Memory = EncodedColumn::Memory;

std::vector<std::string> Texts(const Column& column, size_t rows) {
  std::vector<std::string> texts;
  for (size_t row = 0; row < rows; ++row) {
    texts.emplace_back(column.BytesAt(static_cast<int64_t>(row)));
  }
  return texts;
}

// A block of the strings "ab", "" and "c", each followed by two dots.
RecordBlock BlockWithGaps() {
  RecordBlock block;
  block.rows = 3;
  EncodedColumn& column = block.columns.emplace_back();
  column.Reset(DType::kBytes, {});
  column.values.Append("#ab....c..", 10);
  column.offsets.As<int64_t>()[0] = 1;
  for (const int64_t at : {5, 7, 10}) column.offsets.Push(at);
  column.SetTrailing(2);
  return block;
}

TEST(EncodedColumn, SequencesBecomeNumbers) {
  EncodedColumn column;
  column.SetSequence(5, static_cast<uint64_t>(-2));
  EXPECT_EQ(column.encoding().kind, Encoding::kSequence);
  column.MakePlain(4);
  EXPECT_EQ(column.encoding().kind, Encoding::kPlain);
  EXPECT_THAT(column.View().values.As<int64_t>(), ElementsAre(5, 3, 1, -1));
}

TEST(EncodedColumn, SlicesOfSequencesBeginLater) {
  EncodedColumn column;
  column.SetSequence(5, 3);
  Column slice;
  const EncodedView rows = column.Encoded().Slice(2, 4, slice);
  EXPECT_EQ(rows.encoding.first, 11u);
  EXPECT_EQ(rows.encoding.step, 3u);
}

TEST(EncodedColumn, ShowsItemsOfAnotherOwnerUntilItIsReset) {
  EncodedColumn column;
  const Column numbers = MakeColumn<int64_t>({1, 2, 3});
  column.Show(numbers, Memory::kShared);
  EXPECT_EQ(column.View().values.data(), numbers.values.data());
  ASSERT_TRUE(column.CanTake());
  EXPECT_EQ(column.Take().values.owner(), numbers.values.owner());
  EXPECT_FALSE(column.CanTake());
  column.Reset(DType::kInt64, {});
  EXPECT_EQ(column.memory(), Memory::kOwn);
  EXPECT_EQ(column.View().values.size(), 0u);
}

TEST(RecordBlock, MakesPlainOnlyTheEncodingsThatAreNotTaken) {
  RecordBlock block = BlockWithGaps();
  const Encoding::Kinds both = Encoding::kPlain | Encoding::kTrailing;
  ASSERT_TRUE(block.MakePlain({&both, 1}, false).ok());
  EXPECT_EQ(block.columns[0].encoding().trailing, 2u);
  ASSERT_TRUE(block.MakePlain({}, false).ok());
  EXPECT_EQ(block.columns[0].encoding().kind, Encoding::kPlain);
  EXPECT_THAT(Texts(block.columns[0].View(), 3), ElementsAre("ab", "", "c"));
  EXPECT_EQ(block.columns[0].values.size(), 3u);
}

TEST(RecordBlock, CopiesMappedRowsAndChecksThemAfterwards) {
  const Column texts = MakeBytesColumn(std::vector<std::string_view>{"a", "b"});
  RecordBlock block;
  block.rows = 2;
  block.columns.resize(1);
  block.columns[0].Show(texts, Memory::kMapped);
  bool copied = false;
  block.check_mapped = [&] {
    copied = block.columns[0].memory() == Memory::kOwn;
    return absl::UnavailableError("truncated");
  };
  EXPECT_EQ(block.MakePlain({}, /*takes_mapped=*/false).message(), "truncated");
  EXPECT_TRUE(copied);
  EXPECT_THAT(Texts(block.columns[0].View(), 2), ElementsAre("a", "b"));
}

TEST(RecordBlock, CutsMappedRowsToTheBytesThatFit) {
  const Column texts =
      MakeBytesColumn(std::vector<std::string_view>{"aaaa", "bb", "c", "dd"});
  const Column numbers = MakeColumn<int32_t>({1, 2, 3, 4});
  RecordBlock block;
  const auto cut = [&](size_t bytes_max) {
    block.rows = 4;
    block.columns.resize(2);
    block.columns[0].Show(texts, Memory::kMapped);
    block.columns[1].Show(numbers, Memory::kMapped);
    block.Cut(bytes_max);
    return block.rows;
  };
  EXPECT_EQ(cut(1), 1u);
  EXPECT_EQ(cut(100), 4u);
  EXPECT_EQ(cut(18), 2u);
  EXPECT_EQ(cut(19), 3u);
  EXPECT_EQ(block.columns[0].View().values.size(), 7u);
  EXPECT_EQ(block.columns[0].View().offsets.size(), 4 * sizeof(int64_t));
  EXPECT_THAT(block.columns[1].View().values.As<int32_t>(),
              ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace feedmill

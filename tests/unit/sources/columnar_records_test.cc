// Rows of columnar files, read through a fake reader: decoded groups and
// returned rows.

#include "core/sources/columnar_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/io/file_systems.h"
#include "core/sources/columnar_groups.h"
#include "core/sources/path_partitions.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Size of the text in a row.
constexpr size_t kTextBytes = 1000;

struct MadeUp {
  std::vector<uint64_t> group_rows;
  size_t damaged_group = SIZE_MAX;
  size_t null_row = SIZE_MAX;  // of the file, in "number"
  mutable std::atomic<int> decoded = 0;
  mutable std::atomic<uint64_t> rows_read = 0;  // of all decoded groups
};

std::string TextOf(uint64_t row) {
  return std::string(kTextBytes + row % 3, static_cast<char>('a' + row % 26));
}

// A fake file: row r has number r and TextOf(r).
class MadeUpFile final : public ColumnarFile {
 public:
  explicit MadeUpFile(const MadeUp& data) : data_(data) {}

  const std::vector<ColumnarColumn>& columns() const override {
    return columns_;
  }
  const std::vector<uint64_t>& group_rows() const override {
    return data_.group_rows;
  }
  absl::StatusOr<std::vector<DecodedColumn>> ReadGroup(
      size_t group, std::span<const ColumnarColumn> wanted,
      uint64_t rows) const override {
    ++data_.decoded;
    data_.rows_read += rows;
    if (group == data_.damaged_group) return DataLoss("it is damaged");
    const auto first = std::accumulate(
        data_.group_rows.begin(),
        data_.group_rows.begin() + static_cast<int>(group), uint64_t{0});
    std::vector<DecodedColumn> out;
    for (const ColumnarColumn& column : wanted) {
      out.push_back(MakeOf(column.field, first, rows));
    }
    return out;
  }

 private:
  DecodedColumn MakeOf(const SourceField& field, uint64_t first,
                       uint64_t rows) const {
    DecodedColumn out;
    if (field.dtype == DType::kBytes) {
      std::vector<std::string> texts;
      for (uint64_t r = first; r < first + rows; ++r) {
        texts.push_back(TextOf(r));
      }
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      out.column = MakeBytesColumn(views);
      return out;
    }
    std::vector<int64_t> numbers(rows);
    std::iota(numbers.begin(), numbers.end(), static_cast<int64_t>(first));
    out.column = MakeColumn(numbers);
    if (data_.null_row >= first && data_.null_row < first + rows) {
      out.faults.resize(rows);
      out.faults[data_.null_row - first] = RowFault::kNull;
    }
    return out;
  }

  const MadeUp& data_;
  const std::vector<ColumnarColumn> columns_ = {{{"number", DType::kInt64, {}}},
                                                {{"text", DType::kBytes, {}}}};
};

class MadeUpReader final : public ColumnarReader {
 public:
  explicit MadeUpReader(const MadeUp& data) : data_(data) {}

  absl::StatusOr<std::unique_ptr<const ColumnarFile>> Open(
      ColumnarFormat, std::shared_ptr<const RandomAccessFile>, uint64_t,
      bool) const override {
    return std::make_unique<const MadeUpFile>(data_);
  }

 private:
  const MadeUp& data_;
};

class ColumnarRecordsTest : public ::testing::Test {
 protected:
  // Makes a source of files that all have the rows of `data`.
  std::unique_ptr<const RecordSource> Make(
      const MadeUp& data, const std::vector<SourceField>& fields,
      const std::vector<std::string>& files = {"a"}, bool partitions = false,
      const RowFilter& filter = {}) {
    auto manifest = std::make_shared<Manifest>();
    for (const std::string& name : files) {
      ManifestFile& file = manifest->files.emplace_back();
      file.path = folder_.Write(name, "x");
      file.Set(*(*OpenFile(file.path))->Identity());
      file.records = std::accumulate(data.group_rows.begin(),
                                     data.group_rows.end(), uint64_t{0});
    }
    reader_ = std::make_unique<MadeUpReader>(data);
    return MakeColumnarRecords(*reader_, {.partitions = partitions}, fields, {},
                               std::move(manifest), filter);
  }

  // Reads all records `indexes` and returns their numbers; checks that each
  // read makes progress.
  static std::vector<int64_t> Numbers(const RecordSource& source,
                                      std::span<const uint64_t> indexes,
                                      size_t bytes_max, RecordBlock& block) {
    const auto scratch = source.NewScratch();
    std::vector<int64_t> out;
    while (!indexes.empty()) {
      const auto got = source.Read(indexes, bytes_max, *scratch, block);
      EXPECT_TRUE(got.ok()) << got.status().message();
      if (!got.ok()) break;
      const Column& column = block.columns[0].View();
      for (size_t row = 0; row < *got; ++row) {
        out.push_back(column.Items<int64_t>(row)[0]);
        if (block.columns.size() > 1) {
          EXPECT_EQ(block.columns[1].View().BytesAt(static_cast<int64_t>(row)),
                    TextOf(static_cast<uint64_t>(out.back())));
        }
      }
      indexes = indexes.subspan(*got);
      if (!block.error.ok()) break;
      EXPECT_GT(*got, 0u);
      if (*got == 0) break;
    }
    return out;
  }

  TestFolder folder_;
  std::unique_ptr<MadeUpReader> reader_;
  const std::vector<SourceField> number_ = {{"number", DType::kInt64, {}}};
  const std::vector<SourceField> both_ = {{"number", DType::kInt64, {}},
                                          {"text", DType::kBytes, {}}};
};

std::vector<uint64_t> Scattered(uint64_t count, uint64_t step) {
  std::vector<uint64_t> indexes;
  for (uint64_t k = 0; k < count; ++k) indexes.push_back(k * step % count);
  return indexes;
}

TEST_F(ColumnarRecordsTest, ReadsScatteredRowsAndDecodesEachGroupOnce) {
  MadeUp data{.group_rows = {10, 0, 1, 30, 0, 59}};
  const auto source = Make(data, both_);
  const std::vector<uint64_t> indexes = Scattered(100, 37);
  RecordBlock block;
  const auto numbers = Numbers(*source, indexes, 5000, block);
  EXPECT_EQ(numbers, std::vector<int64_t>(indexes.begin(), indexes.end()));
  EXPECT_EQ(data.decoded, 4);
}

TEST_F(ColumnarRecordsTest, ReadsRunsAcrossGroupsAndFiles) {
  MadeUp data{.group_rows = {3, 4}};
  const auto source = Make(data, both_, {"a", "b", "c"});
  const auto scratch = source->NewScratch();
  RecordBlock block;
  std::vector<int64_t> numbers;
  for (uint64_t at = 2; at < 20;) {
    const auto got = source->ReadRun(at, 20 - at, 4000, *scratch, block);
    ASSERT_TRUE(got.ok());
    ASSERT_GT(*got, 0u);
    // 1,000 bytes per row: no read returns many more rows than fit.
    EXPECT_LE(*got, 4u);
    for (size_t row = 0; row < *got; ++row) {
      numbers.push_back(block.columns[0].View().Items<int64_t>(row)[0]);
    }
    at += *got;
  }
  EXPECT_THAT(numbers, ElementsAre(2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2,
                                   3, 4, 5));
}

TEST_F(ColumnarRecordsTest, KeepsRightRowsOfMoreGroupsThanItHolds) {
  // 400 groups of about 1 MB: more than a read holds and than are cached.
  MadeUp data{.group_rows = std::vector<uint64_t>(400, 1000)};
  const auto source = Make(data, both_);
  std::vector<uint64_t> indexes = Scattered(400'000, 149'993);
  indexes.resize(3000);
  RecordBlock block;
  const auto numbers = Numbers(*source, indexes, size_t{1} << 30, block);
  EXPECT_EQ(numbers, std::vector<int64_t>(indexes.begin(), indexes.end()));
}

TEST_F(ColumnarRecordsTest, ReadsFewRowsOfTheGroupWithTheEnd) {
  MadeUp data{.group_rows = {5, 100}};
  RowFilter filter;
  filter.EndAt(5 + 100 + 5 + 7);
  const auto source = Make(data, both_, {"a", "b"}, false, filter);
  std::vector<uint64_t> indexes(5 + 100 + 5 + 7);
  std::iota(indexes.begin(), indexes.end(), uint64_t{0});
  RecordBlock block;
  const auto numbers = Numbers(*source, indexes, 1 << 20, block);
  ASSERT_EQ(numbers.size(), indexes.size());
  EXPECT_EQ(numbers.back(), 11);
  EXPECT_EQ(data.rows_read, 5 + 100 + 5 + 7U);
  // More than half of a group: all of it.
  filter.EndAt(60);
  EXPECT_EQ(Numbers(*Make(data, number_, {"a"}, false, filter),
                    std::vector<uint64_t>{5, 59}, 1 << 20, block)
                .size(),
            2U);
  EXPECT_EQ(data.rows_read, 5 + 100 + 5 + 7 + 100U);
}

TEST_F(ColumnarRecordsTest, GivesTheRowsBeforeADamagedGroup) {
  MadeUp data{.group_rows = {5, 5, 5}, .damaged_group = 1};
  const auto source = Make(data, number_);
  const std::vector<uint64_t> indexes = {12, 0, 14, 3, 7, 1, 6};
  RecordBlock block;
  EXPECT_THAT(Numbers(*source, indexes, 1 << 20, block),
              ElementsAre(12, 0, 14, 3));
  EXPECT_EQ(block.error.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ErrorText(block.error),
              HasSubstr("a: record 7: row group 1: it is damaged"));
  const int decoded = data.decoded;
  EXPECT_THAT(Numbers(*source, std::vector<uint64_t>{6}, 1 << 20, block),
              IsEmpty());
  EXPECT_EQ(data.decoded, decoded) << "a damaged group is decoded again";
}

TEST_F(ColumnarRecordsTest, NamesTheRowThatIsNull) {
  MadeUp data{.group_rows = {5, 5}, .null_row = 7};
  const auto source = Make(data, number_);
  RecordBlock block;
  EXPECT_THAT(
      Numbers(*source, std::vector<uint64_t>{9, 2, 7, 1}, 1 << 20, block),
      ElementsAre(9, 2));
  EXPECT_THAT(ErrorText(block.error),
              HasSubstr("record 7: the column \"number\""));
  EXPECT_THAT(ErrorText(block.error), HasSubstr("float64"));
  EXPECT_THAT(Numbers(*source, std::vector<uint64_t>{8, 6}, 1 << 20, block),
              ElementsAre(8, 6));
  EXPECT_TRUE(block.error.ok());
}

TEST_F(ColumnarRecordsTest, DecodesNothingWhereNoColumnIsMade) {
  MadeUp data{.group_rows = {5, 5}};
  const auto source = Make(data, {});
  const auto scratch = source->NewScratch();
  RecordBlock block;
  const auto got = source->ReadRun(0, 10, 1 << 20, *scratch, block);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, 10u);
  EXPECT_EQ(data.decoded, 0);
}

TEST_F(ColumnarRecordsTest, TakesAColumnThatAFileLacksFromItsPath) {
  MadeUp data{.group_rows = {2}};
  const std::vector<SourceField> fields = {{"number", DType::kInt64, {}},
                                           {"year", DType::kInt64, {}},
                                           {"who", DType::kBytes, {}}};
  const auto source =
      Make(data, fields,
           {"year=2024/who=a%20b/number=9/f",
            "year=2025/who=__HIVE_DEFAULT_PARTITION__/f", "year=late/who=c/f"},
           /*partitions=*/true);
  const auto scratch = source->NewScratch();
  RecordBlock block;
  const auto got = source->ReadRun(0, 6, 1 << 20, *scratch, block);
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(*got, 4u);
  EXPECT_THAT(block.columns[0].View().Items<int64_t>(1), ElementsAre(1));
  EXPECT_THAT(block.columns[1].View().Items<int64_t>(1), ElementsAre(2024));
  EXPECT_THAT(block.columns[1].View().Items<int64_t>(2), ElementsAre(2025));
  EXPECT_EQ(block.columns[2].View().BytesAt(0), "a b");
  EXPECT_EQ(block.columns[2].View().BytesAt(3), "");
  EXPECT_THAT(ErrorText(block.error), HasSubstr("year=late"));
}

TEST(PathPartitions, AreFoldersWithAKeyAndAValue) {
  const auto found = PartitionsOf("/a=b=c/x/=y/k=1/k=%2F2/name=not.parquet");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "a");
  EXPECT_EQ(found[0].value, "b=c");
  EXPECT_EQ(found[1].key, "k");
  EXPECT_EQ(found[1].value, "/2");
  EXPECT_EQ(FieldOf({"k", "007"}).dtype, DType::kInt64);
  EXPECT_EQ(FieldOf({"k", "1.5"}).dtype, DType::kBytes);
  EXPECT_EQ(FieldOf({"k", {}}).dtype, DType::kBytes);
}

}  // namespace
}  // namespace feedmill

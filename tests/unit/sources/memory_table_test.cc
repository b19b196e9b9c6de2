// Tables in memory as a source: views, gathered rows, and their way to other
// processes.

#include "core/formats/memory_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"
#include "core/sources/record_source.h"
#include "feedmill/dataset.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTexts[] = {"a", "", "ccc", "dd"};

// Four rows of a number and a text.
Chunk SmallTable() {
  Chunk table;
  table.spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"n", DType::kInt32, {2}}, {"text", DType::kBytes, {}}}});
  table.rows = 4;
  table.columns = {MakeColumn<int32_t>({0, 1, 10, 11, 20, 21, 30, 31}, {2}),
                   MakeBytesColumn(kTexts)};
  return table;
}

Graph GraphOf(Chunk table) {
  auto made = Dataset::Memory(std::move(table));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? made->graph() : Graph();
}

std::unique_ptr<const RecordSource> RecordsOf(
    const Graph& graph, const std::vector<bool>& live = {}) {
  auto made = RecordSource::Make(graph.source, true, nullptr, live);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

std::vector<std::string> TextsOf(RecordBlock& block, size_t c = 1) {
  std::vector<std::string> texts;
  for (size_t row = 0; row < block.rows; ++row) {
    texts.emplace_back(
        block.columns[c].View().BytesAt(static_cast<int64_t>(row)));
  }
  return texts;
}

TEST(MemoryTable, GathersRowsAndViewsRuns) {
  const Chunk table = SmallTable();
  const auto records = RecordsOf(GraphOf(table));
  const auto scratch = records->NewScratch();
  RecordBlock block;
  ASSERT_EQ(
      *records->Read(std::vector<uint64_t>{3, 0, 2}, 1000, *scratch, block), 3);
  EXPECT_THAT(TextsOf(block), ElementsAre("dd", "a", "ccc"));
  EXPECT_THAT(block.columns[0].View().Items<int32_t>(1), ElementsAre(0, 1));
  ASSERT_EQ(*records->ReadRun(1, 3, 1000, *scratch, block), 3);
  EXPECT_THAT(TextsOf(block), ElementsAre("", "ccc", "dd"));
  EXPECT_EQ(block.columns[0].View().values.data(),
            table.columns[0].values.data() + 2 * sizeof(int32_t));
  EXPECT_EQ(records->Describe(2, 0), "row 2 of the table in memory");
}

TEST(MemoryTable, ReadsAsManyRowsAsFit) {
  const auto records = RecordsOf(GraphOf(SmallTable()));
  const auto scratch = records->NewScratch();
  RecordBlock block;
  EXPECT_EQ(*records->Read(std::vector<uint64_t>{0, 1, 2}, 1, *scratch, block),
            1);
  // Each row has 8 bytes of numbers, 8 for its text, and the text.
  EXPECT_EQ(*records->ReadRun(0, 4, 2 * 16 + 1, *scratch, block), 2);
}

TEST(MemoryTable, ReadsOnlyLiveColumns) {
  const auto records = RecordsOf(GraphOf(SmallTable()), {false, true});
  const auto scratch = records->NewScratch();
  RecordBlock block;
  ASSERT_EQ(*records->ReadRun(0, 4, 1000, *scratch, block), 4);
  ASSERT_EQ(block.columns.size(), 1);
  EXPECT_THAT(TextsOf(block, 0), ElementsAre("a", "", "ccc", "dd"));
}

TEST(MemoryTable, HasOneHashForOneContent) {
  const MemorySource whole = *SourceOfTable(SmallTable());
  EXPECT_EQ(SourceOfTable(SmallTable())->table, whole.table);
  const MemorySource part = *SourceOfTable(SmallTable().Slice(1, 3));
  EXPECT_NE(part.table, whole.table);
  Chunk same = SmallTable();
  same.columns[0] = MakeColumn<int32_t>({10, 11, 20, 21}, {2});
  same.columns[1] = MakeBytesColumn(std::span(kTexts).subspan(1, 2));
  same.rows = 2;
  EXPECT_EQ(SourceOfTable(same)->table, part.table);
}

TEST(MemoryTable, IsFoundByItsHashWhileASourceLives) {
  MemorySource named = *SourceOfTable(SmallTable());
  EXPECT_TRUE(FindTable(named).ok());
  named.chunk = nullptr;
  const absl::Status status = FindTable(named).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("is not in this process"));
  const MemorySource living = *SourceOfTable(SmallTable());
  EXPECT_TRUE(FindTable(named).ok());
  named.rows = 5;
  EXPECT_EQ(FindTable(named).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MemoryTable, TravelsAsTextOfTheGraph) {
  Graph graph = GraphOf(SmallTable());
  const std::string fingerprint = Fingerprint(graph);
  ASSERT_TRUE(CarryTables(graph, 10'000).ok());
  const std::string text = CanonicalText(graph);
  graph = Graph();
  const auto carried = ParseGraphJson(text);
  ASSERT_TRUE(carried.ok()) << carried.status();
  EXPECT_EQ(Fingerprint(*carried), fingerprint);
  const auto records = RecordsOf(*carried);
  const auto scratch = records->NewScratch();
  RecordBlock block;
  ASSERT_EQ(*records->ReadRun(0, 4, 1000, *scratch, block), 4);
  EXPECT_THAT(TextsOf(block), ElementsAre("a", "", "ccc", "dd"));
}

TEST(MemoryTable, RefusesDataOfAnotherTable) {
  Graph graph = GraphOf(SmallTable());
  ASSERT_TRUE(CarryTables(graph, 10'000).ok());
  MemorySource source = graph.source.Get<MemorySource>();
  source.chunk = nullptr;
  graph = Graph();
  MemorySource damaged = source;
  damaged.table[0] = damaged.table[0] == '0' ? '1' : '0';
  EXPECT_THAT(FindTable(damaged).status().message(),
              HasSubstr("data is not the table"));
  for (size_t k = 0; k < source.data.size(); ++k) {
    damaged = source;
    damaged.data[k] = damaged.data[k] == 'A' ? 'B' : 'A';
    const auto found = FindTable(damaged);
    EXPECT_TRUE(found.ok() || absl::IsInvalidArgument(found.status())) << k;
  }
  damaged.data = "AAAA";
  EXPECT_TRUE(absl::IsInvalidArgument(FindTable(damaged).status()));
  EXPECT_TRUE(FindTable(source).ok());
}

TEST(MemoryTable, RefusesToTravelAboveTheLimit) {
  Graph graph = GraphOf(SmallTable());
  const absl::Status status = CarryTables(graph, 10);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("such as Parquet"));
}

TEST(MemoryTable, RefusesBuffersThatDoNotFitTheSpec) {
  Chunk table = SmallTable();
  table.rows = 5;
  EXPECT_TRUE(absl::IsInvalidArgument(Dataset::Memory(table).status()));
}

}  // namespace
}  // namespace feedmill

#include "core/python/column_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> Words(const std::vector<std::byte>& memory, size_t at,
                           size_t count) {
  std::vector<int64_t> words(count);
  std::memcpy(words.data(), memory.data() + at, count * sizeof(int64_t));
  return words;
}

std::vector<std::byte> Written(const RequestLayout& layout) {
  std::vector<std::byte> memory(layout.bytes());
  layout.WriteTo(memory.data());
  return memory;
}

TEST(RequestLayout, WritesTheRowsThatAreAskedFor) {
  const Column numbers = MakeColumn<int64_t>({1, 2, 3, 4, 5, 6}, {2});
  const std::vector<std::string_view> texts{"a", "bcd", "ef"};
  const Column bytes = MakeBytesColumn(texts);
  const Column* columns[] = {&numbers, &bytes};
  const auto memory = Written(RequestLayout(columns, 1, 2));
  // rank, ragged, values, items, offsets, shapes, starts, the dimensions
  const auto head = Words(memory, 0, 1 + 8 + 7);
  EXPECT_EQ(head[0], 2);
  EXPECT_EQ(head[1], 1);
  EXPECT_EQ(head[4], 4);
  EXPECT_EQ(head[8], 2);
  EXPECT_EQ(head[3] % 64, 0);
  EXPECT_THAT(Words(memory, static_cast<size_t>(head[3]), 4),
              ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(head[12], 2);
  EXPECT_THAT(Words(memory, static_cast<size_t>(head[13]), 3),
              ElementsAre(0, 3, 5));
  EXPECT_EQ(std::memcmp(memory.data() + head[11], "bcdef", 5), 0);
}

TEST(RequestLayout, RebasesRaggedRows) {
  Column ragged = MakeColumn<int64_t>({1, 2, 3, 4, 5, 6}, {kUnknownDim});
  ragged.row_shapes = MakeColumn<int64_t>({1, 2, 3}).values;
  ragged.row_starts = MakeColumn<int64_t>({0, 1, 3, 6}).values;
  const Column* columns[] = {&ragged};
  const auto memory = Written(RequestLayout(columns, 1, 2));
  const auto head = Words(memory, 0, 9);
  EXPECT_EQ(head[2], 1);
  EXPECT_THAT(Words(memory, static_cast<size_t>(head[3]), 5),
              ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(Words(memory, static_cast<size_t>(head[6]), 2),
              ElementsAre(2, 3));
  EXPECT_THAT(Words(memory, static_cast<size_t>(head[7]), 3),
              ElementsAre(0, 2, 5));
}

// A result of one column: its head, then `words`.
std::vector<std::byte> Result(std::vector<int64_t> head,
                              const std::vector<int64_t>& words) {
  head.insert(head.begin(), 0);
  head.insert(head.end(), words.begin(), words.end());
  std::vector<std::byte> memory(head.size() * sizeof(int64_t));
  std::memcpy(memory.data(), head.data(), memory.size());
  return memory;
}
constexpr int64_t kBody = 5 * sizeof(int64_t);

TEST(ResultRows, GathersRowsOfSeveralResults) {
  const ComponentSpec component{"", DType::kInt64, {kUnknownDim}};
  OutputColumn out;
  ResultRows rows;
  rows.Begin(component, &out);
  ASSERT_TRUE(
      rows.Append(Result({16, kBody, -1, kBody + 16}, {7, 8, 2}), 0, 1).ok());
  ASSERT_TRUE(
      rows.Append(Result({8, kBody, -1, kBody + 8}, {9, 1, 0}), 0, 2).ok());
  rows.Finish();
  const Column& column = out.View();
  ASSERT_TRUE(column.Validate(component, 3).ok());
  EXPECT_THAT(column.Items<int64_t>(0), ElementsAre(7, 8));
  EXPECT_THAT(column.Items<int64_t>(1), ElementsAre(9));
  EXPECT_THAT(column.Items<int64_t>(2), ElementsAre());
}

TEST(ResultRows, MakesUniformColumnsOfRowsOfOneShape) {
  const ComponentSpec component{"", DType::kInt64, {kUnknownDim}};
  OutputColumn out;
  ResultRows rows;
  rows.Begin(component, &out);
  ASSERT_TRUE(
      rows.Append(Result({16, kBody, -1, kBody + 16}, {7, 8, 1, 1}), 0, 2)
          .ok());
  rows.Finish();
  EXPECT_FALSE(out.View().ragged());
  EXPECT_THAT(out.View().shape, ElementsAre(1));
}

struct Broken {
  DType dtype;
  Shape shape;
  std::vector<int64_t> head;
  std::vector<int64_t> words;
};

TEST(ResultRows, RejectsResultsThatBreakTheLayout) {
  const DType number = DType::kInt64;
  for (const Broken& broken : std::vector<Broken>{
           {number, {}, {8, kBody, -1, -1}, {}},          // beyond the end
           {number, {}, {8, -8, -1, -1}, {1}},            // before it
           {number, {}, {8, kBody + 4, -1, -1}, {1, 2}},  // not aligned
           {number, {}, {16, kBody, -1, -1}, {1, 2}},     // too many items
           {number, {}, {-8, kBody, -1, -1}, {1}},        // negative
           {number, {-1}, {8, kBody, -1, -1}, {1}},       // no shapes
           {number,
            {-1},
            {8, kBody, -1, kBody + 8},
            {1, -1}},  // a negative dim
           {number,
            {-1, -1},
            {0, kBody, -1, kBody},
            {INT64_MAX, INT64_MAX}},  // overflow
           {DType::kBytes, {}, {8, kBody, kBody + 8, -1}, {0, 0, 9}},
           {DType::kBytes, {}, {8, kBody, kBody + 8, -1}, {0, 1, 8}},
           {DType::kBytes, {}, {8, kBody, kBody + 8, -1}, {0, 0, 4}},
           {DType::kBytes, {}, {8, kBody, kBody + 8, -1}, {0, 0}}}) {
    const ComponentSpec component{"", broken.dtype, broken.shape};
    OutputColumn out;
    ResultRows rows;
    rows.Begin(component, &out);
    EXPECT_THAT(rows.Append(Result(broken.head, broken.words), 0, 1).message(),
                HasSubstr("broke the layout"));
  }
  OutputColumn out;
  ResultRows rows;
  const ComponentSpec component{"", number, {}};
  rows.Begin(component, &out);
  EXPECT_THAT(rows.Append({}, 0, 1).message(), HasSubstr("no head"));
}

}  // namespace
}  // namespace feedmill

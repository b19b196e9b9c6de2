#include "tools/command/element_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ops/shown_bytes.h"

namespace feedmill {
namespace {

TEST(ShownBytes, IsOneLineForPeople) {
  using std::string_literals::operator""s;
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"text", "text"},
      {"a\nb\tc", "a\\nb\\tc"},
      {"\x1b[31m", "\\x1b[31m"},
      {std::string(100, 'x'), std::string(39, 'x') + "…"},
      {std::string(38, 'x') + "€€€", std::string(38, 'x') + "€…"},
      {"\x80\x81", "2 bytes"},
      {"a\0"s, "2 bytes"},
      {"\xff\xd8\xff\xe0" + std::string(1000, '\0'), "JPEG, 1,004 bytes"},
      {"P5\n4 3\n255\n" + std::string(12, 'x'), "PGM 4x3, 23 bytes"},
      {"BM is a text", "BM is a text"}};
  for (const auto& [bytes, shown] : cases) EXPECT_EQ(ShownBytes(bytes), shown);
  std::string cut;
  while (cut.size() < 200) cut += "€";  // characters lie across byte 160
  EXPECT_EQ(ShownBytes(cut).substr(0, 6), "€€");
}

TEST(AlignedTable, AlignsNumbersAtTheRight) {
  const TableRows rows = {
      {"n", "name"}, {"5", "a"}, {"-1.5e3", "b€"}, {"10", ""}};
  constexpr std::string_view kTable =
      "     n  name\n"
      "------  ----\n"
      "     5  a\n"
      "-1.5e3  b€\n"
      "    10\n";
  EXPECT_EQ(AlignedTable(rows, 12), kTable);
  EXPECT_EQ(AlignedTable({rows[0], rows[1]}, 6),
            "n     5\n"
            "name  a\n");
}

TEST(TableOfElements, ShowsLargeArraysByType) {
  Chunk chunk;
  chunk.spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"", DType::kInt64, {}},
                   {"few", DType::kFloat32, {2}},
                   {"many", DType::kInt64, {7}},
                   {"image", DType::kUInt8, {1, 2}}}});
  chunk.rows = 1;
  chunk.columns = {MakeColumn(std::vector<int64_t>{3}),
                   MakeColumn(std::vector<float>{0.5F, 2}, {2}),
                   MakeColumn(std::vector<int64_t>(7), {7}),
                   MakeColumn(std::vector<uint8_t>{1, 2}, {1, 2})};
  const TableRows rows = TableOfElements(*chunk.spec, {&chunk, 1});
  EXPECT_EQ(rows, (TableRows{{"value", "few", "many", "image"},
                             {"3", "[0.5, 2.0]", "int64[7]", "uint8[1, 2]"}}));
}

}  // namespace
}  // namespace feedmill

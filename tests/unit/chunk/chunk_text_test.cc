// Elements as JSON lines and as a hash. Expected values come from Python (json,
// repr, numpy and ctypes on libxxhash).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/chunk/chunk_builder.h"
#include "core/chunk/jsonl.h"
#include "core/chunk/order_hash.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

std::shared_ptr<const ElementSpec> TextSpec(
    std::vector<ComponentSpec> components) {
  return std::make_shared<ElementSpec>(ElementSpec{std::move(components)});
}

template <class T>
Chunk Unnamed(const std::vector<T>& values, Shape shape = {}) {
  const auto items = static_cast<size_t>(NumItems(shape));
  return {TextSpec({{"", DTypeOf<T>(), shape}}),
          values.size() / items,
          {MakeColumn(values, shape)}};
}

Chunk UnnamedBytes(const std::vector<std::string_view>& values) {
  return {TextSpec({{"", DType::kBytes, {}}}),
          values.size(),
          {MakeBytesColumn(values)}};
}

std::string Json(const Chunk& chunk, size_t row = 0) {
  std::string line;
  AppendJson(chunk, row, line);
  return line;
}

std::string JsonOf(std::string_view text) { return Json(UnnamedBytes({text})); }

// NumPy's repr of float16, and the shortest digits that mean the bfloat16.
TEST(Jsonl, SixteenBitFloatsHaveTheShortestDigits) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0.1, "0.1"},         {1.0, "1.0"},       {-0.0, "-0.0"},
      {65504.0, "65500.0"}, {2049.0, "2048.0"}, {6e-08, "6e-08"},
      {0.333, "0.333"},     {1e-3, "0.001"},    {1e9, "\"Infinity\""},
      {-1.5, "-1.5"},       {3.14159, "3.14"},  {1024.5, "1024.0"},
      {0.5625, "0.5625"},   {NAN, "\"NaN\""}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(Json(Unnamed<Float16>({value})), text);
  }
  EXPECT_EQ(Json(Unnamed<BFloat16>({0.1})), "0.1");
  EXPECT_EQ(Json(Unnamed<BFloat16>({1e38})), "1e+38");
  EXPECT_EQ(Json(Unnamed<BFloat16>({257.0})), "256.0");
}

TEST(Jsonl, DoublesAreTheirPythonRepr) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.5, "-1.5"},
      {0.1, "0.1"},
      {0.0001, "0.0001"},
      {9.999e-05, "9.999e-05"},
      {1e-05, "1e-05"},
      {1000000000000000.0, "1000000000000000.0"},
      {1e+16, "1e+16"},
      {9999999999999998.0, "9999999999999998.0"},
      {123456789.0, "123456789.0"},
      {1e+22, "1e+22"},
      {1.5e+300, "1.5e+300"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {0.3333333333333333, "0.3333333333333333"},
      {123456.789, "123456.789"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(Json(Unnamed<double>({value})), text);
  }
}

TEST(Jsonl, FloatsAreShortestInTheirOwnDType) {
  const std::vector<std::pair<float, std::string>> cases = {
      {0.1f, "0.1"},
      {1e-05f, "1e-05"},
      {0.0001f, "0.0001"},
      {16777216.0f, "16777216.0"},
      {1e15f, "1000000000000000.0"},
      {1e+16f, "1e+16"},
      {1.0f / 3, "0.33333334"},
      {3.4028235e+38f, "3.4028235e+38"},
      {1e-45f, "1e-45"},
      {1.2345679e15f, "1234568000000000.0"},
      {0.3f, "0.3"},
      {100.0f, "100.0"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(Json(Unnamed<float>({value})), text);
  }
}

TEST(Jsonl, NanAndInfinityAreStrings) {
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(
      Json(Unnamed<double>(
          {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}, {3})),
      R"(["NaN","Infinity","-Infinity"])");
}

TEST(Jsonl, IntegersReachTheirLimits) {
  EXPECT_EQ(Json(Unnamed<int64_t>({std::numeric_limits<int64_t>::min()})),
            "-9223372036854775808");
  EXPECT_EQ(Json(Unnamed<uint64_t>({std::numeric_limits<uint64_t>::max()})),
            "18446744073709551615");
  EXPECT_EQ(Json(Unnamed<int8_t>({-128})), "-128");
  EXPECT_EQ(Json(Unnamed<uint8_t>({255})), "255");
}

TEST(Jsonl, Booleans) {
  Chunk chunk = Unnamed<uint8_t>({1, 0}, {2});
  chunk.columns[0].dtype = DType::kBool;
  EXPECT_EQ(Json(chunk), "[true,false]");
}

TEST(Jsonl, TensorsAreNestedLists) {
  EXPECT_EQ(Json(Unnamed<int64_t>({0, 1, 2, 3, 4, 5, 6, 7}, {2, 2}), 1),
            "[[4,5],[6,7]]");
  ChunkBuilder builder(
      TextSpec({{"", DType::kInt64, {kUnknownDim, kUnknownDim}}}));
  builder.AppendRow(0, {2, 0});
  builder.AppendRow(0, {0, 2});
  builder.FinishRows(2);
  const Chunk chunk = std::move(builder).Finish();
  EXPECT_EQ(Json(chunk, 0), "[[],[]]");
  EXPECT_EQ(Json(chunk, 1), "[]");
}

TEST(Jsonl, NamedComponentsAreAnObjectInOrder) {
  const std::vector<std::string_view> names = {"x\"y"};
  const Chunk chunk{TextSpec({{"value", DType::kFloat32, {2}},
                              {"a\nb", DType::kBytes, {}},
                              {"label", DType::kInt64, {}}}),
                    1,
                    {MakeColumn<float>({0.5f, -0.0f}, {2}),
                     MakeBytesColumn(names), MakeColumn<int64_t>({7})}};
  EXPECT_EQ(Json(chunk), R"({"value":[0.5,-0.0],"a\nb":"x\"y","label":7})");
}

TEST(Jsonl, OnlyWhatJsonRequiresIsEscaped) {
  EXPECT_EQ(JsonOf(std::string_view("\"\\/\b\f\n\r\t\0\x1f\x7f", 11)),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"");
  EXPECT_EQ(JsonOf("grün 漢 😀"), "\"grün 漢 😀\"");
  EXPECT_EQ(JsonOf(""), "\"\"");
}

TEST(Jsonl, InvalidUtf8IsBase64) {
  EXPECT_EQ(JsonOf("\xff"), R"({"base64":"/w=="})");
  EXPECT_EQ(JsonOf("\xff\xfe"), R"({"base64":"//4="})");
  EXPECT_EQ(JsonOf(std::string_view("\xff\0\x10", 3)), R"({"base64":"/wAQ"})");
  for (const std::string_view bad :
       {"\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80",
        "a\xe6\xbc", "\xe6\xbc\x41"}) {
    EXPECT_EQ(JsonOf(bad).substr(0, 11), R"({"base64":")");
  }
  for (const std::string_view good :
       {"\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(JsonOf(good), '"' + std::string(good) + '"');
  }
}

std::string HashOf(const Chunk& chunk) {
  OrderHash hash;
  hash.Add(chunk);
  return hash.Hex();
}

TEST(OrderHash, GoldenNumbers) {
  EXPECT_EQ(OrderHash().Hex(), "0000000000000000");
  EXPECT_EQ(HashOf(Unnamed<int64_t>({0, 1, 4, 9, 16})), "e4cc8aaf829486f7");
}

TEST(OrderHash, GoldenNamedComponents) {
  const std::vector<std::string_view> names = {"a", "",
                                               std::string_view("\xff\0", 2)};
  const Chunk chunk{
      TextSpec({{"x", DType::kFloat32, {2}}, {"name", DType::kBytes, {}}}),
      3,
      {MakeColumn<float>({1.5f, -0.0f, 0.25f, 3.0f, 2.0f, 4.0f}, {2}),
       MakeBytesColumn(names)}};
  EXPECT_EQ(HashOf(chunk), "5c05271327b45e2e");
}

Chunk Ragged() {
  ChunkBuilder builder(
      TextSpec({{"image", DType::kUInt8, {kUnknownDim, kUnknownDim}},
                {"tags", DType::kBytes, {kUnknownDim}}}));
  const uint8_t pixels[] = {1, 2, 3, 4};
  builder.AppendDense(0, {1, 2}, pixels, 1);
  builder.AppendBytesRow(1, {2}, {"a", "bc"});
  builder.AppendDense(0, {2, 1}, pixels + 2, 1);
  builder.AppendBytesRow(1, {0}, {});
  builder.FinishRows(2);
  return std::move(builder).Finish();
}

TEST(OrderHash, GoldenRaggedRows) {
  EXPECT_EQ(HashOf(Ragged()), "33d375a2a8e49111");
}

TEST(OrderHash, GoldenLargeElements) {
  std::vector<uint8_t> items(10000);
  for (size_t k = 0; k < 5000; ++k) {
    items[k] = static_cast<uint8_t>(k % 251);
    items[9999 - k] = items[k];
  }
  EXPECT_EQ(HashOf(Unnamed(items, {5000})), "967a74038ed5a87f");
  const std::vector<std::string_view> strings = {
      {reinterpret_cast<const char*>(items.data()), 5000}, "end"};
  const Chunk chunk{
      TextSpec({{"", DType::kBytes, {2}}}), 1, {MakeBytesColumn(strings, {2})}};
  EXPECT_EQ(HashOf(chunk), "a03a485cdf7c8b8b");
}

TEST(OrderHash, GoldenElementsWithoutItems) {
  const Chunk chunk{TextSpec({{"", DType::kUInt8, {0}}}),
                    2,
                    {MakeColumn(std::vector<uint8_t>{}, {0})}};
  EXPECT_EQ(HashOf(chunk), "d2e99f951c7fc91a");
}

TEST(OrderHash, DoesNotDependOnTheCutNorOnTheLayout) {
  for (const Chunk& chunk : {Unnamed<int64_t>({3, 1, 4, 1}), Ragged()}) {
    for (size_t cut = 0; cut <= chunk.rows; ++cut) {
      OrderHash hash;
      hash.Add(chunk.Slice(0, cut));
      hash.Add(chunk, cut, chunk.rows);
      EXPECT_EQ(hash.Hex(), HashOf(chunk));
    }
  }
  // A slice of one row is stored as ragged but is uniform.
  ChunkBuilder builder(Ragged().spec);
  const Chunk ragged = Ragged();
  builder.AppendRows(0, ragged.columns[0], 0, 1);
  builder.AppendRows(1, ragged.columns[1], 0, 1);
  builder.FinishRows(1);
  EXPECT_EQ(HashOf(std::move(builder).Finish()), HashOf(ragged.Slice(0, 1)));
}

TEST(OrderHash, DependsOnOrderNamesAndTypes) {
  EXPECT_NE(HashOf(Unnamed<int64_t>({1, 2})), HashOf(Unnamed<int64_t>({2, 1})));
  EXPECT_NE(HashOf(Unnamed<int64_t>({1})), HashOf(Unnamed<uint64_t>({1})));
  Chunk named = Unnamed<int64_t>({1});
  named.spec = TextSpec({{"x", DType::kInt64, {}}});
  EXPECT_NE(HashOf(named), HashOf(Unnamed<int64_t>({1})));
}

}  // namespace
}  // namespace feedmill

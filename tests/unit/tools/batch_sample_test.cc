#include "tools/command/batch_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/operators/registry.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

ShownBatch BatchOf(std::vector<ComponentSpec> components,
                   std::vector<Column> columns) {
  ShownBatch batch;
  batch.number = 3;
  batch.seed = 7;
  Chunk& chunk = batch.traced.element;
  chunk.spec =
      std::make_shared<ElementSpec>(ElementSpec{std::move(components)});
  chunk.rows = 1;
  chunk.columns = std::move(columns);
  return batch;
}

Json JsonOf(const ShownBatch& batch, const Graph& graph = {}) {
  return Json::parse(BatchSampleJson(batch, graph));
}

TEST(BatchSample, MakesPicturesOfImages) {
  std::vector<uint8_t> pixels(2 * 4 * 6 * 3, 0);
  pixels[0] = 255;  // red
  const Json json = JsonOf(BatchOf({{"image", DType::kUInt8, {2, 4, 6, 3}}},
                                   {MakeColumn(pixels, {2, 4, 6, 3})}));
  const Json& image = json["components"][0];
  EXPECT_EQ(image["type"], "uint8[2, 4, 6, 3]");
  ASSERT_EQ(image["pictures"].size(), 2u);
  EXPECT_EQ(image["pictures"][0]["width"], 6);
  EXPECT_EQ(image["pictures"][0]["height"], 4);
  const std::string rgb = image["pictures"][0]["rgb"];
  EXPECT_EQ(rgb.substr(0, 8), "/wAAAAAA");
  EXPECT_EQ(rgb.size(), 4u * 6 * 3 / 3 * 4);
}

TEST(BatchSample, MakesLargePicturesSmallerAndMapsFloats) {
  std::vector<float> pixels(size_t{3} * 400 * 200, -1.0F);
  pixels.back() = 1;  // blue, of the last pixel
  const Json json = JsonOf(BatchOf({{"", DType::kFloat32, {3, 400, 200}}},
                                   {MakeColumn(pixels, {3, 400, 200})}));
  const Json& picture = json["components"][0]["pictures"][0];
  EXPECT_EQ(picture["height"], 96);
  EXPECT_EQ(picture["width"], 48);
}

TEST(BatchSample, ShortensTextsAndValues) {
  const std::string text(1'000, 'x');
  const std::vector<std::string_view> texts{text, "\xff\xfe"};
  std::vector<int64_t> values(20);
  for (size_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<int64_t>(k);
  const Json json =
      JsonOf(BatchOf({{"text", DType::kBytes, {2}},
                      {"rows", DType::kInt64, {2, 10}},
                      {"label", DType::kInt64, {2}}},
                     {MakeBytesColumn(texts, {2}), MakeColumn(values, {2, 10}),
                      MakeColumn(std::vector<int64_t>{5, 6}, {2})}));
  const Json& components = json["components"];
  EXPECT_LT(components[0]["texts"][0].get<std::string>().size(), 410u);
  EXPECT_EQ(components[0]["texts"][1], "2 bytes");
  EXPECT_EQ(components[1]["values"][1], "[10,11,12,13,14,15,16,17, …]");
  EXPECT_EQ(components[2]["values"], Json({"5", "6"}));
}

TEST(BatchSample, SaysWhichInputTheRecordsAreOf) {
  const auto text_of = [](const std::string& file) {
    Graph graph;
    graph.source = MakeSource(TextSource{.files = {file}});
    return graph;
  };
  Graph graph;
  graph.source =
      MakeSource(MixtureSource{{text_of("/a/*.txt"), text_of("/b/")}, {3, 1}});
  ShownBatch batch =
      BatchOf({{"", DType::kInt64, {}}}, {MakeColumn(std::vector<int64_t>{1})});
  batch.traced.records = {
      {"/a/1.txt", 4}, {"/b/4.txt", 0}, {"/a/2.txt", 9}, {"/a/1.txt", 5}};
  const Json json = JsonOf(batch, graph);
  EXPECT_EQ(json["record_count"], 4);
  EXPECT_EQ(json["records"][1]["file"], "/b/4.txt");
  ASSERT_EQ(json["inputs"].size(), 2u);
  EXPECT_EQ(json["inputs"][0]["name"], "inputs[0] text /a/*.txt");
  EXPECT_EQ(json["inputs"][0]["records"], 3);
  EXPECT_EQ(json["inputs"][0]["percent"], 75.0);
  EXPECT_EQ(json["inputs"][1]["weight_percent"], 25.0);
}

}  // namespace
}  // namespace feedmill

#include "tools/command/element_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "core/ops/image.h"
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

// Returns the protocol of a terminal with these variables.
PictureProtocol ProtocolWith(std::map<std::string, std::string> variables) {
  return PictureProtocolOf(
      [&variables](const char* name) { return variables[name]; });
}

TEST(PictureProtocolOf, KnowsTerminalsByTheirVariables) {
  EXPECT_EQ(ProtocolWith({{"TERM", "xterm-256color"}}), PictureProtocol::kNone);
  EXPECT_EQ(ProtocolWith({{"TERM", "xterm-kitty"}}), PictureProtocol::kKitty);
  EXPECT_EQ(ProtocolWith({{"KITTY_WINDOW_ID", "1"}}), PictureProtocol::kKitty);
  EXPECT_EQ(ProtocolWith({{"TERM_PROGRAM", "iTerm.app"}}),
            PictureProtocol::kIterm);
  EXPECT_EQ(ProtocolWith({{"LC_TERMINAL", "iTerm2"}}), PictureProtocol::kIterm);
  EXPECT_EQ(ProtocolWith({{"TERM", "xterm-kitty"}, {"TMUX", "/tmp/tmux"}}),
            PictureProtocol::kNone);
}

// Returns the bytes that escape sequences of either protocol carry.
std::string PayloadOf(const std::string& text) {
  std::string base64;
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(text, '\x1b'))) {
    const bool kitty = part.starts_with("_G");
    const size_t begin = part.find(kitty ? ';' : ':');
    if (begin == part.npos) continue;
    base64 += part.substr(begin + 1);
    if (!kitty) base64.pop_back();  // BEL
  }
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(base64, &bytes)) << base64;
  return bytes;
}

TEST(TerminalPicture, SendsFilesAndDecodedImages) {
  const std::string ppm = "P6\n4 2\n255\n" + std::string(24, '\x40');
  const Column file = MakeBytesColumn(std::vector<std::string_view>{ppm});
  const std::string sent = TerminalPicture(PictureProtocol::kIterm, file, 0);
  EXPECT_THAT(sent, testing::StartsWith("\x1b]1337;File=inline=1;size=35;"));
  EXPECT_EQ(PayloadOf(sent), ppm);
  EXPECT_EQ(TerminalPicture(PictureProtocol::kNone, file, 0), "");
  // kitty gets PNG files, of noise in several parts.
  std::vector<uint8_t> noise(size_t{100} * 90 * 3);
  std::mt19937 draw(1);
  for (uint8_t& value : noise) value = static_cast<uint8_t>(draw());
  const Column pixels = MakeColumn(noise, {100, 90, 3});
  const std::string drawn = TerminalPicture(PictureProtocol::kKitty, pixels, 0);
  EXPECT_THAT(drawn, testing::StartsWith("\x1b_Ga=T,f=100,r=8,m=1;"));
  const std::string png = PayloadOf(drawn);
  ImageDecoder decoder;
  const ImageSize size{100, 90};
  ASSERT_EQ(decoder.ReadSize(png).value(), size);
  std::vector<uint8_t> decoded(noise.size());
  ASSERT_TRUE(decoder.Decode(png, {}, size, decoded).ok());
  EXPECT_EQ(decoded, noise);
  const std::string small =
      PayloadOf(TerminalPicture(PictureProtocol::kKitty, file, 0));
  EXPECT_EQ(decoder.ReadSize(small).value(), (ImageSize{2, 4}));
  const Column text = MakeBytesColumn(std::vector<std::string_view>{"text"});
  EXPECT_EQ(TerminalPicture(PictureProtocol::kKitty, text, 0), "");
  EXPECT_EQ(TerminalPicture(PictureProtocol::kKitty,
                            MakeColumn(std::vector<uint8_t>(8), {2, 4}), 0),
            "");
}

TEST(TableOfElements, PutsPicturesOnLinesOfTheirOwn) {
  Chunk chunk;
  chunk.spec = std::make_shared<ElementSpec>(ElementSpec{
      {{"image", DType::kUInt8, {2, 2, 1}}, {"label", DType::kInt64, {}}}});
  chunk.rows = 1;
  chunk.columns = {MakeColumn(std::vector<uint8_t>(4), {2, 2, 1}),
                   MakeColumn(std::vector<int64_t>{3})};
  const std::string text = AlignedTable(
      TableOfElements(*chunk.spec, {&chunk, 1}, PictureProtocol::kKitty), 80);
  EXPECT_THAT(text, testing::StartsWith("image  uint8[2, 2, 1]\n\x1b_G"));
  EXPECT_THAT(text, testing::EndsWith("\x1b\\\nlabel  3\n"));
}

}  // namespace
}  // namespace feedmill

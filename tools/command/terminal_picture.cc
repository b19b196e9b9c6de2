#include "tools/command/terminal_picture.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/ops/image.h"
#include "core/ops/thumbnail.h"

namespace feedmill {
namespace {

// Lines of text that a picture is high, and pixels of its longer side.
constexpr int kLines = 8;
constexpr int64_t kSide = 240;
constexpr int64_t kRgb = 3;
// Larger files are not drawn.
constexpr size_t kFileMost = size_t{4} << 20;
constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";

std::string BigEndian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> shift);
  }
  return bytes;
}

std::string PngChunk(const std::string& name, const std::string& data) {
  const std::string sum = name + data;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(sum.data()),
                          static_cast<uInt>(sum.size()));
  return BigEndian(static_cast<uint32_t>(data.size())) + sum +
         BigEndian(static_cast<uint32_t>(crc));
}

std::string PngOf(const Thumbnail& picture) {
  const auto stride = static_cast<size_t>(picture.size.width * kRgb);
  std::string rows;
  for (size_t at = 0; at < picture.pixels.size(); at += stride) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(picture.pixels.data()) + at,
                stride);
  }
  uLong size = compressBound(rows.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  const std::string head =
      BigEndian(static_cast<uint32_t>(picture.size.width)) +
      BigEndian(static_cast<uint32_t>(picture.size.height)) +
      std::string("\x08\x02\0\0\0", 5);  // 8 bits, RGB
  return std::string(kPng) + PngChunk("IHDR", head) + PngChunk("IDAT", packed) +
         PngChunk("IEND", "");
}

// Returns a decoded image as a small picture.
std::optional<Thumbnail> SmallOf(const Column& column, size_t row) {
  const Shape shape = column.RowShape(row);
  if (column.dtype != DType::kUInt8 || shape.size() != 3 ||
      (shape[2] != 1 && shape[2] != kRgb) || shape[0] < 2 || shape[1] < 2) {
    return std::nullopt;
  }
  const ImageSize from{shape[0], shape[1]};
  const int64_t longer = std::max({from.height, from.width, kSide});
  const ImageSize to{std::max<int64_t>(2, from.height * kSide / longer),
                     std::max<int64_t>(2, from.width * kSide / longer)};
  std::vector<uint8_t> pixels(
      static_cast<size_t>(to.height * to.width * shape[2]));
  if (!ResizeImage(column.Items<uint8_t>(row), from, pixels, to, shape[2],
                   ResizeMethod::kBilinear)
           .ok()) {
    return std::nullopt;
  }
  if (shape[2] == kRgb) return Thumbnail{to, std::move(pixels)};
  Thumbnail grey{to, {}};
  for (const uint8_t pixel : pixels)
    grey.pixels.insert(grey.pixels.end(), 3, pixel);
  return grey;
}

// Returns a file that the terminal can draw; "" if there is none.
std::string FileOf(PictureProtocol protocol, const Column& column, size_t row) {
  if (column.dtype != DType::kBytes) {
    const auto small = SmallOf(column, row);
    return small ? PngOf(*small) : "";
  }
  if (!column.RowShape(row).empty()) return "";
  const std::string_view bytes = column.BytesAt(column.RowStart(row));
  const bool png = bytes.starts_with(kPng);
  if (bytes.size() > kFileMost || !ImageDecoder().ReadSize(bytes).ok()) {
    return "";
  }
  if (protocol == PictureProtocol::kIterm || png) return std::string(bytes);
  const auto small = ThumbnailOf(bytes, kSide);  // kitty takes PNG files only
  return small ? PngOf(*small) : "";
}

// The protocol takes at most 4,096 characters at a time.
std::string KittyText(const std::string& base64) {
  constexpr size_t kPart = 4096;
  std::string text;
  for (size_t at = 0; at < base64.size(); at += kPart) {
    text += fmt::format("\x1b_G{}m={};{}\x1b\\",
                        at == 0 ? fmt::format("a=T,f=100,r={},", kLines) : "",
                        at + kPart < base64.size() ? 1 : 0,
                        std::string_view(base64).substr(at, kPart));
  }
  return text;
}

}  // namespace

PictureProtocol PictureProtocolOf(
    const std::function<std::string(const char*)>& variable) {
  if (!variable("TMUX").empty() || !variable("STY").empty()) {
    return PictureProtocol::kNone;
  }
  const std::string term = variable("TERM");
  const std::string program = variable("TERM_PROGRAM");
  if (!variable("KITTY_WINDOW_ID").empty() || term == "xterm-kitty" ||
      term == "xterm-ghostty" || program == "ghostty") {
    return PictureProtocol::kKitty;
  }
  const bool iterm = program == "iTerm.app" || program == "WezTerm" ||
                     program == "mintty" || variable("LC_TERMINAL") == "iTerm2";
  return iterm ? PictureProtocol::kIterm : PictureProtocol::kNone;
}

std::string TerminalPicture(PictureProtocol protocol, const Column& column,
                            size_t row) {
  if (protocol == PictureProtocol::kNone) return "";
  const std::string file = FileOf(protocol, column, row);
  if (file.empty()) return "";
  const std::string base64 = absl::Base64Escape(file);
  if (protocol == PictureProtocol::kKitty) return KittyText(base64);
  return fmt::format("\x1b]1337;File=inline=1;size={};height={}:{}\a",
                     file.size(), kLines, base64);
}

}  // namespace feedmill

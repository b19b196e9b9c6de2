#include "core/ops/shown_bytes.h"

#include <fmt/format.h>

#include "core/base/printable_text.h"
#include "core/base/utf8.h"
#include "core/ops/image.h"

namespace feedmill {
namespace {

struct ImageKind {
  std::string_view begin;
  std::string_view name;
};
constexpr ImageKind kImageKinds[] = {
    {"\xff\xd8\xff", "JPEG"},
    {"\x89PNG\r\n", "PNG"},
    {"GIF8", "GIF"},
    {"RIFF", "WebP"},
    {"BM", "BMP"},
    {"P5", "PGM"},
    {"P6", "PPM"},
};

// "1,234,567 bytes".
std::string SizeText(size_t size) {
  std::string digits = fmt::format("{}", size);
  for (size_t k = digits.size(); k > 3;) digits.insert(k -= 3, 1, ',');
  return digits + (size == 1 ? " byte" : " bytes");
}

// Returns "" if the bytes are no image.
std::string ShownImage(std::string_view bytes) {
  for (const ImageKind& kind : kImageKinds) {
    if (!bytes.starts_with(kind.begin)) continue;
    const auto size = ImageDecoder().ReadSize(bytes);
    if (size.ok()) {
      return fmt::format("{} {}x{}, {}", kind.name, size->width, size->height,
                         SizeText(bytes.size()));
    }
    // A text may begin as the other kinds do.
    const bool binary = !IsUtf8(kind.begin);
    return binary ? fmt::format("{}, {}", kind.name, SizeText(bytes.size()))
                  : "";
  }
  return "";
}

}  // namespace

std::string ShownBytes(std::string_view bytes) {
  std::string image = ShownImage(bytes);
  if (!image.empty()) return image;
  // Longer texts are cut; their last shown character may be anywhere.
  constexpr size_t kBytesMax = 4 * kShownCharacters;
  std::string_view begin = bytes.substr(0, kBytesMax);
  while (begin.size() < bytes.size() && !IsUtf8(begin) &&
         begin.size() > kBytesMax - 4) {
    begin.remove_suffix(1);
  }
  if (!IsUtf8(begin) || begin.find('\0') != begin.npos) {
    return SizeText(bytes.size());
  }
  std::string line;
  for (const char c : PrintableText(begin)) {
    line += c == '\t' ? std::string("\\t") : std::string(1, c);
  }
  return CutText(line, kShownCharacters);
}

}  // namespace feedmill

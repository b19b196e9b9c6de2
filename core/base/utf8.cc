#include "core/base/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace feedmill {

std::optional<Utf8Character> FirstUtf8(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return Utf8Character{lead, 1};
  const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0 || length > text.size()) return std::nullopt;
  uint32_t code = lead & (0xffu >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    const auto next = static_cast<unsigned char>(text[k]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (next & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (length == 3 && (code < 0x800 || surrogate)) return std::nullopt;
  if (length == 4 && (code < 0x10000 || code > 0x10ffff)) return std::nullopt;
  return Utf8Character{code, length};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const auto character = FirstUtf8(text);
    if (!character) return false;
    text.remove_prefix(character->bytes);
  }
  return true;
}

void AppendUtf8(uint32_t code, std::string& out) {
  const auto byte = [&](uint32_t bits) { out += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

std::string_view Latin1ToUtf8(std::string_view text, std::string& scratch) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
  if (ascii) return text;
  scratch.clear();
  for (const char c : text) AppendUtf8(static_cast<unsigned char>(c), scratch);
  return scratch;
}

}  // namespace feedmill

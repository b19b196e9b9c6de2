#include "core/base/printable_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/utf8.h"

namespace feedmill {

std::string PrintableText(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const auto character = FirstUtf8(text);
    const size_t bytes = character ? character->bytes : 1;
    const auto first = static_cast<unsigned char>(text.front());
    const uint32_t code = character ? character->code : first;
    // C0, DEL, and C1, with which terminals begin sequences, too.
    const bool control =
        (code < 0x20 && code != '\t') || (code >= 0x7f && code < 0xa0);
    if (code == '\n') {
      shown += "\\n";
    } else if (control || !character) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", code);
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

namespace {

bool BeginsCharacter(char c) { return (c & 0xC0) != 0x80; }

}  // namespace

size_t CharactersOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, BeginsCharacter));
}

std::string CutText(std::string_view text, size_t most) {
  size_t characters = 0;
  size_t end = 0;  // of the first most - 1 characters
  for (size_t k = 0; k < text.size(); ++k) {
    if (!BeginsCharacter(text[k])) continue;
    if (++characters == most) end = k;
    if (characters > most) return std::string(text.substr(0, end)) + "…";
  }
  return std::string(text);
}

}  // namespace feedmill

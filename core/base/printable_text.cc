#include "core/base/printable_text.h"

#include <fmt/format.h>

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

}  // namespace feedmill

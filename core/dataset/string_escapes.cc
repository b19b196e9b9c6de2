#include "core/dataset/string_escapes.h"

#include <fmt/format.h>

namespace feedmill {
namespace {

bool IsOctalDigit(char c) { return c >= '0' && c <= '7'; }

}  // namespace

std::string ReadEscape(std::string_view text, size_t& at, std::string& value) {
  const char c = text[at++];
  constexpr std::string_view kFrom = "nrtabfv\\'\"";
  constexpr std::string_view kTo = "\n\r\t\a\b\f\v\\'\"";
  if (const size_t i = kFrom.find(c); i != std::string_view::npos) {
    value += kTo[i];
    return "";
  }
  if (c == '\n') return "";
  if (IsOctalDigit(c)) {
    int byte = c - '0';
    for (int i = 0; i < 2 && at < text.size() && IsOctalDigit(text[at]); ++i) {
      byte = byte * 8 + (text[at++] - '0');
    }
    if (byte > 0xff) return "the escape is above \\377";
    value += static_cast<char>(byte);
    return "";
  }
  if (c == 'x') {
    const int high = at < text.size() ? HexDigit(text[at]) : -1;
    const int low = at + 1 < text.size() ? HexDigit(text[at + 1]) : -1;
    if (high < 0 || low < 0) return "\\x needs two hexadecimal digits";
    value += static_cast<char>(high * 16 + low);
    at += 2;
    return "";
  }
  return fmt::format("there is no escape \\{}; write \\\\ for a backslash", c);
}

}  // namespace feedmill

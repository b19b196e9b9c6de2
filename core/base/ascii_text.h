#ifndef FEEDMILL_CORE_BASE_ASCII_TEXT_H_
#define FEEDMILL_CORE_BASE_ASCII_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

// Returns the value of a hexadecimal digit; -1 for any other character.
inline int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Returns `text` without surrounding spaces, tabs and line ends.
inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  if (!text.empty() && text.front() > ' ' && text.back() > ' ') return text;
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

// Returns `text` with the letters A to Z in lower case.
std::string LowerCase(std::string_view text);

// Returns the text with all bytes as %XX, except letters, digits, '-', '.',
// '_', '~' and the bytes of `plain`.
std::string PercentEncoded(std::string_view text, std::string_view plain = "");

// Decodes; nullopt if a '%' is not followed by two hex digits.
std::optional<std::string> PercentDecoded(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_ASCII_TEXT_H_

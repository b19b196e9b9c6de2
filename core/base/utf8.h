#ifndef FEEDMILL_CORE_BASE_UTF8_H_
#define FEEDMILL_CORE_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

// The byte order mark that may precede the first line of a text file. It is not
// part of the line.
inline constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

struct Utf8Character {
  uint32_t code = 0;  // at most 0x10ffff
  size_t bytes = 0;
};
// The character that `text` begins with. Nothing if it begins with none.
std::optional<Utf8Character> FirstUtf8(std::string_view text);

// True if `text` is valid UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);

// Appends a character. REQUIRES: code is at most 0x10ffff and no surrogate.
void AppendUtf8(uint32_t code, std::string& out);

// The UTF-8 of a text in Latin-1: `text` itself if it is ASCII, else made in
// `scratch`.
std::string_view Latin1ToUtf8(std::string_view text, std::string& scratch);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_UTF8_H_

#ifndef FEEDMILL_CORE_DATASET_STRING_ESCAPES_H_
#define FEEDMILL_CORE_DATASET_STRING_ESCAPES_H_

#include <string>
#include <string_view>

namespace feedmill {

// The value of a hexadecimal digit; -1 for any other character.
int HexDigit(char c);

// Reads the escape of a Python bytes literal whose backslash stands just
// before text[at], appends what it means to `value` and moves `at` past it.
// What is wrong with it, or "". REQUIRES: at < text.size().
std::string ReadEscape(std::string_view text, size_t& at, std::string& value);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STRING_ESCAPES_H_

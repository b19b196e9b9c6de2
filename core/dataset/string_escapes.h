#ifndef FEEDMILL_CORE_DATASET_STRING_ESCAPES_H_
#define FEEDMILL_CORE_DATASET_STRING_ESCAPES_H_

#include <string>
#include <string_view>

#include "core/base/ascii_text.h"

namespace feedmill {

// Decodes an escape of a Python bytes literal whose backslash is just before
// text[at], appends the result to `value` and moves `at` past it. Returns what
// is wrong with the escape, or "". REQUIRES: at < text.size().
std::string ReadEscape(std::string_view text, size_t& at, std::string& value);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STRING_ESCAPES_H_

#ifndef FEEDMILL_CORE_BASE_UTF8_H_
#define FEEDMILL_CORE_BASE_UTF8_H_

#include <string_view>

namespace feedmill {

// True if `text` is valid UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_UTF8_H_

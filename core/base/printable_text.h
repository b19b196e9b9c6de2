#ifndef FEEDMILL_CORE_BASE_PRINTABLE_TEXT_H_
#define FEEDMILL_CORE_BASE_PRINTABLE_TEXT_H_

#include <string>
#include <string_view>

namespace feedmill {

// Returns `text` with escapes ("\n", "\x1b") in place of control characters,
// except tabs, and of bytes that are no UTF-8. Names and errors that peers sent
// then neither end a line of a log nor control a terminal.
std::string PrintableText(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_PRINTABLE_TEXT_H_

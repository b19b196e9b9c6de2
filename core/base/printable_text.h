#ifndef FEEDMILL_CORE_BASE_PRINTABLE_TEXT_H_
#define FEEDMILL_CORE_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

// Returns `text` with escapes ("\n", "\x1b") in place of control characters,
// except tabs, and of bytes that are no UTF-8. Names and errors that peers sent
// then neither end a line of a log nor control a terminal.
std::string PrintableText(std::string_view text);

// Number of characters of UTF-8 text.
size_t CharactersOf(std::string_view text);
// Returns the first `most` characters of UTF-8 text, the last of them "…" if
// the text is longer. REQUIRES: most > 0.
std::string CutText(std::string_view text, size_t most);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_PRINTABLE_TEXT_H_

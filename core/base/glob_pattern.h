#ifndef FEEDMILL_CORE_BASE_GLOB_PATTERN_H_
#define FEEDMILL_CORE_BASE_GLOB_PATTERN_H_

#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

// Patterns of file names, as text: "*", "?" and "[…]" are wildcards; "[*]",
// "[?]" and "[[]" are these characters themselves.

// True if `text` has a wildcard.
bool HasWildcard(std::string_view text);

// A pattern that matches exactly `name`: "run[1]" → "run[[]1]".
std::string EscapedPattern(std::string_view name);

// The only name that `pattern` matches, if it has no wildcard that is not
// escaped: "run[[]1]" → "run[1]".
std::optional<std::string> LiteralPattern(std::string_view pattern);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_GLOB_PATTERN_H_

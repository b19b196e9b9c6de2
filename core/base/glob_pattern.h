#ifndef FEEDMILL_CORE_BASE_GLOB_PATTERN_H_
#define FEEDMILL_CORE_BASE_GLOB_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// Patterns of file names, as text: "*", "?" and "[…]" are wildcards; "[*]",
// "[?]", "[[]" and "[{]" are these characters themselves. "{000..999}" stands
// for the numbers from 000 to 999, each in a name of its own.

// True if `text` has a wildcard.
bool HasWildcard(std::string_view text);

// A pattern that matches exactly `name`: "run[1]" → "run[[]1]".
std::string EscapedPattern(std::string_view name);

// The only name that `pattern` matches, if it has no wildcard that is not
// escaped: "run[[]1]" → "run[1]".
std::optional<std::string> LiteralPattern(std::string_view pattern);

// Replaces adjacent "**" among the parts of a pattern by one.
void JoinStarParts(std::vector<std::string>& parts);

// A range of numbers in a pattern.
struct NumbersInName {
  uint64_t first = 0;
  uint64_t last = 0;
  size_t digits = 0;  // at least; shorter numbers are filled up with zeros
  size_t begin = 0;   // of "{" in the pattern
  size_t end = 0;     // behind "}"
};
// The first range of a pattern.
std::optional<NumbersInName> FindNumbersInName(std::string_view pattern);

// Replaces ranges by their numbers. The last range changes fastest:
// "a{0..1}b{8..9}" → a0b8, a0b9, a1b8, a1b9. Nothing if they are more than
// `most`, or if a range ends before it begins.
std::optional<std::vector<std::string>> ExpandNumbersInName(
    std::string_view pattern, size_t most);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_GLOB_PATTERN_H_

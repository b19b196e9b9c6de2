#ifndef FEEDMILL_CORE_CLUSTER_WORDS_H_
#define FEEDMILL_CORE_CLUSTER_WORDS_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace feedmill {

// Splits a text at each separator; "" gives one empty part.
inline std::vector<std::string_view> SplitWords(std::string_view text,
                                                char separator) {
  std::vector<std::string_view> words;
  for (size_t from = 0;;) {
    const size_t to = text.find(separator, from);
    words.push_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return words;
    from = to + 1;
  }
}

// Parses decimal digits; nullopt for other characters or on overflow.
inline std::optional<int64_t> ParseDecimal(std::string_view text) {
  if (text.empty() ||
      text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Natural order: compares digits as numbers and other characters as text, so
// that algo-9 precedes algo-10. A total order.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_WORDS_H_

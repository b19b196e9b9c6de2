#include "core/base/glob_pattern.h"

#include <algorithm>
#include <charconv>

namespace feedmill {
namespace {

constexpr size_t kRangeDigitsMax = 18;

// The digits that `text` begins with.
std::string_view DigitsOf(std::string_view text) {
  return text.substr(
      0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

// The range at the beginning of `text`, which is behind "{".
std::optional<NumbersInName> RangeAt(std::string_view text) {
  const std::string_view first = DigitsOf(text);
  std::string_view rest = text.substr(first.size());
  if (!rest.starts_with("..")) return std::nullopt;
  rest.remove_prefix(2);
  const std::string_view last = DigitsOf(rest);
  if (!rest.substr(last.size()).starts_with("}")) return std::nullopt;
  if (first.empty() || last.empty() || first.size() > kRangeDigitsMax ||
      last.size() > kRangeDigitsMax) {
    return std::nullopt;
  }
  NumbersInName range;
  std::from_chars(first.data(), first.data() + first.size(), range.first);
  std::from_chars(last.data(), last.data() + last.size(), range.last);
  const auto padded = [](std::string_view digits) {
    return digits.size() > 1 && digits.front() == '0';
  };
  if (padded(first) || padded(last)) {
    range.digits = std::max(first.size(), last.size());
  }
  range.end = first.size() + 2 + last.size() + 1;
  return range;
}

}  // namespace

bool HasWildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

void JoinStarParts(std::vector<std::string>& parts) {
  const auto adjacent = [](const std::string& a, const std::string& b) {
    return a == "**" && b == "**";
  };
  parts.erase(std::unique(parts.begin(), parts.end(), adjacent), parts.end());
}

std::string EscapedPattern(std::string_view name) {
  std::string out;
  for (size_t k = 0; k < name.size(); ++k) {
    const std::string_view one = name.substr(k, 1);
    const bool range = one == "{" && RangeAt(name.substr(k + 1));
    if (HasWildcard(one) || range) {
      out.append("[").append(one).append("]");
    } else {
      out.append(one);
    }
  }
  return out;
}

std::optional<std::string> LiteralPattern(std::string_view pattern) {
  std::string out;
  while (!pattern.empty()) {
    const bool escaped =
        pattern.size() >= 3 && pattern[0] == '[' && pattern[2] == ']' &&
        (HasWildcard(pattern.substr(1, 1)) || pattern[1] == '{');
    if (!escaped && HasWildcard(pattern.substr(0, 1))) return std::nullopt;
    out += escaped ? pattern[1] : pattern[0];
    pattern.remove_prefix(escaped ? 3 : 1);
  }
  return out;
}

std::optional<NumbersInName> FindNumbersInName(std::string_view pattern) {
  for (size_t at = pattern.find('{'); at != pattern.npos;
       at = pattern.find('{', at + 1)) {
    auto range = RangeAt(pattern.substr(at + 1));
    if (!range) continue;
    range->begin = at;
    range->end += at + 1;
    return range;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> ExpandNumbersInName(
    std::string_view pattern, size_t most) {
  std::vector<std::string> out = {""};
  while (const auto range = FindNumbersInName(pattern)) {
    if (range->first > range->last ||
        range->last - range->first >= most / out.size()) {
      return std::nullopt;
    }
    std::vector<std::string> longer;
    for (const std::string& begin : out) {
      for (uint64_t number = range->first; number <= range->last; ++number) {
        std::string digits = std::to_string(number);
        if (digits.size() < range->digits) {
          digits.insert(0, range->digits - digits.size(), '0');
        }
        longer.push_back(begin + std::string(pattern.substr(0, range->begin)) +
                         digits);
      }
    }
    out = std::move(longer);
    pattern.remove_prefix(range->end);
  }
  for (std::string& one : out) one += pattern;
  return out;
}

}  // namespace feedmill

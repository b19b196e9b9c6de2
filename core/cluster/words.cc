#include "core/cluster/words.h"

#include <algorithm>
#include <utility>

namespace feedmill {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the number that begins at `from`, without leading zeros, and its end.
std::pair<std::string_view, size_t> NumberAt(std::string_view text,
                                             size_t from) {
  const size_t end =
      std::min(text.find_first_not_of("0123456789", from), text.size());
  std::string_view number = text.substr(from, end - from);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return {number, end};
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      const auto [left, left_end] = NumberAt(a, i);
      const auto [right, right_end] = NumberAt(b, j);
      if (left != right) {
        return std::pair(left.size(), left) < std::pair(right.size(), right);
      }
      i = left_end;
      j = right_end;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return i == a.size();
  return a < b;  // equal except for leading zeros
}

}  // namespace feedmill

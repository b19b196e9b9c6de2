#include "core/dataset/nearest_name.h"

#include <algorithm>
#include <cstddef>

namespace feedmill {
namespace {

constexpr size_t kLengthMax =
    64;  // longer names are not considered misspellings

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment distance, ignoring case.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same});
      if (i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
          Lower(a[i - 2]) == Lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string NearestName(std::string_view name,
                        const std::vector<std::string_view>& known) {
  if (name.empty() || name.size() > kLengthMax) return "";
  std::string_view nearest;
  size_t nearest_distance = std::max<size_t>(1, (name.size() + 1) / 3) + 1;
  for (std::string_view candidate : known) {
    if (candidate.size() > kLengthMax) continue;
    const size_t distance = EditDistance(name, candidate);
    // If no letter is left, it is not a misspelling ("x" for "y").
    if (distance >= std::max(name.size(), candidate.size())) continue;
    if (distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return std::string(nearest);
}

std::string DidYouMean(std::string_view name,
                       const std::vector<std::string_view>& known) {
  const std::string nearest = NearestName(name, known);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

}  // namespace feedmill

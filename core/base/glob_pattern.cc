#include "core/base/glob_pattern.h"

namespace feedmill {

bool HasWildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

std::string EscapedPattern(std::string_view name) {
  std::string out;
  for (size_t k = 0; k < name.size(); ++k) {
    const std::string_view one = name.substr(k, 1);
    if (HasWildcard(one)) {
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
    const bool escaped = pattern.size() >= 3 && pattern[0] == '[' &&
                         pattern[2] == ']' && HasWildcard(pattern.substr(1, 1));
    if (!escaped && HasWildcard(pattern.substr(0, 1))) return std::nullopt;
    out += escaped ? pattern[1] : pattern[0];
    pattern.remove_prefix(escaped ? 3 : 1);
  }
  return out;
}

}  // namespace feedmill

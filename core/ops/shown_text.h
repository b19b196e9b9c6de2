#ifndef FEEDMILL_CORE_OPS_SHOWN_TEXT_H_
#define FEEDMILL_CORE_OPS_SHOWN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

// Returns `text` for a message: at most 60 bytes, with spaces for control
// characters.
inline std::string ShownText(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string shown(text.substr(0, kShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (text.size() > kShown) shown += "…";
  return shown;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SHOWN_TEXT_H_

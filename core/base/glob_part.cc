#include "core/base/glob_part.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/utf8.h"

namespace feedmill {
namespace {

// Removes the character that `text` begins with. A byte that is in no character
// gets a code behind the last of Unicode. REQUIRES: `text` is not empty.
uint32_t TakeCharacter(std::string_view& text) {
  const auto character = FirstUtf8(text);
  const auto byte = static_cast<unsigned char>(text.front());
  text.remove_prefix(character ? character->bytes : 1);
  return character ? character->code : 0x110000u + byte;
}

using IsOfClass = bool (*)(unsigned char);
constexpr std::array<std::pair<std::string_view, IsOfClass>, 12> kClasses = {{
    {"alnum", absl::ascii_isalnum},
    {"alpha", absl::ascii_isalpha},
    {"blank", absl::ascii_isblank},
    {"cntrl", absl::ascii_iscntrl},
    {"digit", absl::ascii_isdigit},
    {"graph", absl::ascii_isgraph},
    {"lower", absl::ascii_islower},
    {"print", absl::ascii_isprint},
    {"punct", absl::ascii_ispunct},
    {"space", absl::ascii_isspace},
    {"upper", absl::ascii_isupper},
    {"xdigit", absl::ascii_isxdigit},
}};

// Removes "[:name:]" from the beginning of `text`, and returns whether the
// character is of that class. Nothing if there is no known class.
std::optional<bool> TakeClass(std::string_view& text, uint32_t character) {
  if (!text.starts_with("[:")) return std::nullopt;
  const std::string_view rest = text.substr(2);
  for (const auto& [name, is_of_class] : kClasses) {
    if (!rest.starts_with(name) || !rest.substr(name.size()).starts_with(":]"))
      continue;
    text = rest.substr(name.size() + 2);
    return character < 0x80 &&
           is_of_class(static_cast<unsigned char>(character));
  }
  return std::nullopt;
}

// Removes a set, "[…]", from the beginning of `text`, and returns whether it
// has the character. Nothing, and `text` as it was, if the set has no end.
// REQUIRES: `text` begins with "[".
std::optional<bool> TakeSet(std::string_view& text, uint32_t character) {
  std::string_view rest = text.substr(1);
  const bool negated = rest.starts_with('!') || rest.starts_with('^');
  if (negated) rest.remove_prefix(1);
  bool has = false;
  for (bool first = true; first || !rest.starts_with(']'); first = false) {
    if (rest.empty()) return std::nullopt;
    if (const auto of_class = TakeClass(rest, character)) {
      has = has || *of_class;
      continue;
    }
    const uint32_t low = TakeCharacter(rest);
    uint32_t high = low;
    if (rest.size() >= 2 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = TakeCharacter(rest);
    }
    has = has || (low <= character && character <= high);
  }
  text = rest.substr(1);
  return has != negated;
}

// Removes what matches one character from the beginning of `part`, and returns
// whether it matches this one. REQUIRES: `part` is not empty.
bool TakeOne(std::string_view& part, uint32_t character) {
  if (part.front() == '?') {
    part.remove_prefix(1);
    return true;
  }
  if (part.front() == '[') {
    if (const auto has = TakeSet(part, character)) return *has;
  }
  return TakeCharacter(part) == character;
}

constexpr std::string_view kHiddenEnds[] = {"._COPYING_", "_$folder$"};
constexpr std::string_view kLostAndFound = "lost+found";

}  // namespace

bool IsHiddenName(std::string_view name) {
  return name.starts_with('.') || name == kLostAndFound ||
         std::ranges::any_of(kHiddenEnds, [&](std::string_view end) {
           return name.ends_with(end);
         });
}

bool PartMatches(std::string_view part, std::string_view name) {
  if (name.starts_with('.') && !part.starts_with('.')) return false;
  if (name == kLostAndFound && part != kLostAndFound) return false;
  for (const std::string_view end : kHiddenEnds) {
    if (name.ends_with(end) && !part.ends_with(end)) return false;
  }
  // Behind the last "*", and where the name continues there: if the rest does
  // not match, the "*" takes one character more. An earlier "*" need not.
  std::optional<std::string_view> behind_star;
  std::string_view name_behind_star;
  while (!name.empty()) {
    if (part.starts_with('*')) {
      part.remove_prefix(1);
      behind_star = part;
      name_behind_star = name;
      continue;
    }
    if (!part.empty() && TakeOne(part, TakeCharacter(name))) continue;
    if (!behind_star) return false;
    TakeCharacter(name_behind_star);
    name = name_behind_star;
    part = *behind_star;
  }
  return part.find_first_not_of('*') == part.npos;
}

}  // namespace feedmill

#include "core/io/url_options.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr std::string_view kEscaped = "[?]";

bool IsOptionLetter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

bool IsHostLetter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '.' || c == '_' || c == ':' || c == '[' || c == ']';
}

}  // namespace

size_t FindUrlOptions(std::string_view name) {
  const size_t mark = name.rfind('?');
  if (mark == std::string_view::npos) return name.size();
  const std::string_view rest = name.substr(mark + 1);
  const size_t equals = rest.find('=');
  if (equals == std::string_view::npos || equals == 0 ||
      !std::all_of(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(equals),
                   IsOptionLetter) ||
      rest.find_first_of("/*") != std::string_view::npos) {
    return name.size();
  }
  return mark;
}

std::string JoinUrlOptions(std::string name, std::string_view options) {
  const size_t mark = FindUrlOptions(name);
  if (options.empty() && mark < name.size()) name.replace(mark, 1, kEscaped);
  return name.append(options);
}

std::string NameWithoutEscape(std::string name) {
  const size_t at = name.rfind(kEscaped);
  if (at == std::string::npos) return name;
  const std::string plain = fmt::format("{}?{}", name.substr(0, at),
                                        name.substr(at + kEscaped.size()));
  return FindUrlOptions(plain) == at ? plain : name;
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>>
ParseUrlOptions(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> options;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    auto value = PercentDecoded(part.substr(std::min(equals + 1, part.size())));
    if (!value || value->empty()) {
      return InvalidArgument("the option '{}' has no value",
                             part.substr(0, equals));
    }
    options.emplace_back(part.substr(0, equals), *std::move(value));
  }
  return options;
}

std::optional<bool> ParseFlag(std::string text) {
  absl::AsciiStrToLower(&text);
  if (text == "1" || text == "true" || text == "yes") return true;
  if (text == "0" || text == "false" || text == "no") return false;
  return std::nullopt;
}

absl::StatusOr<std::string> ParseEndpoint(std::string_view text,
                                          std::string_view scheme,
                                          std::string_view what) {
  const size_t mark = text.find("://");
  if (mark != std::string_view::npos) {
    scheme = text.substr(0, mark);
    text = text.substr(mark + 3);
  }
  while (text.ends_with('/')) text.remove_suffix(1);
  if ((scheme == "http" || scheme == "https") && !text.empty() &&
      std::all_of(text.begin(), text.end(), IsHostLetter)) {
    return fmt::format("{}://{}", scheme, text);
  }
  return InvalidArgument(
      "{} is the address of a server, such as http://localhost:9000", what);
}

}  // namespace feedmill

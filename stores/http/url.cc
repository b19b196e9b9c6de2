#include "stores/http/url.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/base/url_secrets.h"

namespace feedmill {
namespace {

bool IsUrlByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && byte != 0x7f &&
         std::string_view("\"<>\\^`{|}#").find(c) == std::string_view::npos;
}

// Returns the position after "://", or the end.
size_t HostOf(std::string_view name) {
  const size_t mark = name.find("://");
  return mark == std::string_view::npos ? name.size() : mark + 3;
}

absl::Status NamesNoFile(std::string_view name, std::string_view why) {
  return InvalidArgument(
      "{}: {}, and a web server lists no files: name each file, as in files: "
      "[https://host/a.csv, https://host/b.csv]",
      ShownName(name), why);
}

// Returns the path with "[*]" and "[[]" replaced by these characters.
absl::StatusOr<std::string> UnescapedPath(std::string_view name,
                                          std::string_view path) {
  std::string out;
  for (size_t at = 0; at < path.size(); ++at) {
    const std::string_view rest = path.substr(at);
    if (rest.starts_with("[*]") || rest.starts_with("[[]")) {
      out += rest[1];
      at += 2;
    } else if (rest.front() == '*' || rest.front() == '[') {
      return NamesNoFile(
          name, fmt::format("'{}' makes it a pattern (write %{:02X} for the "
                            "character itself)",
                            rest.front(), rest.front()));
    } else {
      out += rest.front();
    }
  }
  return out;
}

}  // namespace

absl::Status CheckUrl(std::string_view name) {
  for (size_t k = 0; k < name.size(); ++k) {
    if (IsUrlByte(name[k])) continue;
    return InvalidArgument(
        "{}: byte {} cannot be part of a URL; write it as %{:02X}",
        ShownName(name), k, static_cast<unsigned char>(name[k]));
  }
  const size_t host = HostOf(name);
  const size_t path = std::min(name.find_first_of("/?", host), name.size());
  if (path == host) {
    return InvalidArgument("{}: names no host; write https://HOST/PATH",
                           ShownName(name));
  }
  if (path == name.size()) return NamesNoFile(name, "it has no path");
  if (name.ends_with('/') && name.find('?', path) == std::string_view::npos) {
    return NamesNoFile(name, "it ends with '/' and so names a folder");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> UrlOfPattern(std::string_view pattern) {
  const size_t path =
      std::min(pattern.find_first_of("/?", HostOf(pattern)), pattern.size());
  const size_t query = std::min(pattern.find('?', path), pattern.size());
  FM_ASSIGN_OR_RETURN(
      const std::string unescaped,
      UnescapedPath(pattern, pattern.substr(path, query - path)));
  std::string url = fmt::format("{}{}{}", pattern.substr(0, path), unescaped,
                                pattern.substr(query));
  FM_RETURN_IF_ERROR(CheckUrl(url));
  return url;
}

}  // namespace feedmill

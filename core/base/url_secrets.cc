#include "core/base/url_secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace feedmill {
namespace {

constexpr std::string_view kMark = "://";
constexpr std::string_view kHidden = "?...";

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
}

// Returns the scheme that ends at `mark`, in lower case.
std::string SchemeBefore(std::string_view text, size_t mark) {
  size_t begin = mark;
  while (begin > 0 && (IsLetter(text[begin - 1]) || IsDigit(text[begin - 1]) ||
                       text[begin - 1] == '+')) {
    --begin;
  }
  std::string scheme(text.substr(begin, mark - begin));
  for (char& c : scheme) c = IsLetter(c) ? static_cast<char>(c | 0x20) : c;
  return scheme;
}

// True if "?" is an ordinary character, or a wildcard, in URLs of the scheme.
bool HasNoQuery(std::string_view scheme) {
  constexpr std::string_view kSchemes[] = {"s3",   "gs",    "az",
                                           "abfs", "abfss", "file"};
  return std::find(std::begin(kSchemes), std::end(kSchemes), scheme) !=
         std::end(kSchemes);
}

// Returns the place of the "://" of the first URL at or after `from`. The
// addresses of dispatchers and workers (tcp://) have no secrets.
size_t NextUrl(std::string_view text, size_t from) {
  size_t mark = text.find(kMark, from);
  while (mark != text.npos) {
    const std::string scheme = SchemeBefore(text, mark);
    if (!scheme.empty() && scheme != "tcp") break;
    mark = text.find(kMark, mark + 1);
  }
  return mark;
}

// True if `text` begins with a name or an address and perhaps a port, and the
// URL, its path or its query follows.
bool BeginsWithHost(std::string_view text) {
  size_t end = 0;
  while (end < text.size() &&
         (IsLetter(text[end]) || IsDigit(text[end]) ||
          std::string_view("-._:[]").find(text[end]) != text.npos)) {
    ++end;
  }
  return end > 0 &&
         (end == text.size() || IsBlank(text[end]) ||
          std::string_view("/?#\"'`,;)>}").find(text[end]) != text.npos);
}

// True if the port after a host is no number: "/" ends the host in
// "me:pa/ss@host", where "%2F" was meant. Blanks end a sentence's URL.
bool HasPassword(std::string_view host) {
  if (host.starts_with('[') && host.find(']') != host.npos) {
    host.remove_prefix(host.find(']'));
  }
  const size_t colon = host.find(':');
  if (colon == host.npos) return false;
  const std::string_view port = host.substr(colon + 1);
  return !port.empty() && !IsBlank(port.front()) &&
         !std::all_of(port.begin(), port.end(), IsDigit);
}

// Returns the end of "user:password@" at `begin`; `begin` if there is none. A
// password may have characters that no URL can have, such as spaces.
size_t LoginEnd(std::string_view text, size_t begin) {
  const size_t end = std::min(text.find_first_of("/?#", begin), text.size());
  const std::string_view host = text.substr(begin, end - begin);
  size_t at = text.find('@', begin);
  const size_t last = host.rfind('@');
  if (at == text.npos || (last == host.npos && !HasPassword(host))) {
    return begin;
  }
  for (size_t next = at; next != text.npos; next = text.find('@', next + 1)) {
    if (BeginsWithHost(text.substr(next + 1))) return next + 1;
  }
  return last == host.npos ? at + 1 : begin + last + 1;
}

// Returns the end of the URL whose scheme begins at `scheme` and whose host
// begins at `host`: a blank, or the quotation mark before which the URL begins,
// but before punctuation of the sentence. A query may have characters that no
// URL can have. Blanks are part of a URL between quotation marks.
size_t UrlEnd(std::string_view text, size_t scheme, size_t host) {
  constexpr std::string_view kPunctuation = ":,.;)]}>`\\";
  const char quote = scheme > 0 ? text[scheme - 1] : ' ';
  size_t end = host;
  while (end < text.size() && !IsBlank(text[end]) &&
         !(quote == '"' && text[end] == '"')) {
    ++end;
  }
  size_t trimmed = end;
  const auto trim = [&](std::string_view marks) {
    while (trimmed > host && marks.find(text[trimmed - 1]) != text.npos) {
      --trimmed;
    }
  };
  trim(kPunctuation);
  const bool open = end < text.size() && text[end] != '"' &&
                    (quote == '"' || quote == '\'') &&
                    text[trimmed - 1] != quote;
  if (open) trimmed = std::min(text.find(quote, end), text.size());
  trim(":,.;)]}>`\\\"'");
  return trimmed;
}

}  // namespace

// A secret may have characters that must be escaped in a URL. Exceptions are
// blanks in a query, and "/", "?" or "#" in a password that begins with digits
// or has "@".
std::string HideUrlSecrets(std::string text) {
  size_t mark = NextUrl(text, 0);
  if (mark == std::string::npos) return text;
  std::string shown;
  size_t copied = 0;
  size_t outer_query = 0;  // of a URL that has another one in its path
  for (; mark != std::string::npos; mark = NextUrl(text, mark + 1)) {
    if (mark < copied) continue;
    const std::string scheme = SchemeBefore(text, mark);
    const size_t begin = mark + kMark.size();
    shown.append(text, copied, begin - copied);
    copied = begin;
    for (size_t end = 0; (end = LoginEnd(text, copied)) != copied;) {
      copied = end;
    }
    if (HasNoQuery(scheme) && mark > outer_query) continue;
    const size_t end = UrlEnd(text, mark - scheme.size(), copied);
    const size_t query = text.find_first_of("?#", copied);
    // Skip an empty query, and one that is hidden already.
    if (query >= end || query + 1 == end) continue;
    if (NextUrl(text, copied) < query) {
      outer_query = query;  // the URL in the path hides it
      continue;
    }
    shown.append(text, copied, query - copied);
    shown += kHidden;
    copied = end;
  }
  return shown.append(text, copied);
}

std::string ShownName(std::string_view name) {
  const size_t mark = NextUrl(name, 0);
  if (mark == name.npos || SchemeBefore(name, mark).size() != mark) {
    return HideUrlSecrets(std::string(name));
  }
  std::string escaped;
  for (const char c : name) {
    if (IsBlank(c)) {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return HideUrlSecrets(std::move(escaped));
}

}  // namespace feedmill

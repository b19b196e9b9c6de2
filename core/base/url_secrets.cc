#include "core/base/url_secrets.h"

#include <algorithm>
#include <string_view>

namespace feedmill {
namespace {

constexpr std::string_view kMark = "://";
constexpr std::string_view kHidden = "?...";

// Returns the end of the URL whose part after "://" begins at `begin`. The URL
// ends at a byte that no URL has, but before punctuation of the sentence.
size_t UrlEnd(std::string_view text, size_t begin) {
  const auto ends = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f ||
           std::string_view("\"<>\\^`{|}").find(c) != std::string_view::npos;
  };
  size_t end = begin;
  while (end < text.size() && !ends(text[end])) ++end;
  while (end > begin && std::string_view(":,.;')]").find(text[end - 1]) !=
                            std::string_view::npos) {
    --end;
  }
  return end;
}

// True if `before` ends with the scheme of an object store, whose URLs have no
// secret queries.
bool IsStore(std::string_view before) {
  return before.ends_with("s3") || before.ends_with("gs") ||
         before.ends_with("az") || before.ends_with("abfs") ||
         before.ends_with("abfss");
}

// Returns the place of the "://" of the first URL at or after `from`.
size_t NextUrl(std::string_view text, size_t from) {
  size_t mark = text.find(kMark, from);
  while (mark != std::string_view::npos) {
    const std::string_view before = text.substr(0, mark);
    if (before.ends_with("http") || before.ends_with("https") ||
        IsStore(before)) {
      break;
    }
    mark = text.find(kMark, mark + 1);
  }
  return mark;
}

}  // namespace

std::string HideUrlSecrets(std::string text) {
  size_t mark = NextUrl(text, 0);
  if (mark == std::string::npos) return text;
  std::string shown;
  size_t copied = 0;
  for (; mark != std::string::npos; mark = NextUrl(text, mark + 1)) {
    if (mark < copied) continue;
    const size_t begin = mark + kMark.size();
    const size_t end = UrlEnd(text, begin);
    const size_t path = std::min(text.find_first_of("/?#", begin), end);
    const size_t user = text.substr(begin, path - begin).rfind('@');
    shown.append(text, copied, begin - copied);
    copied = user == std::string::npos ? begin : begin + user + 1;
    if (IsStore(std::string_view(text).substr(0, mark))) continue;
    const size_t query = text.find_first_of("?#", path);
    // Skip an empty query, and one that is hidden already.
    if (query >= end || query + 1 == end) continue;
    // The query belongs to a URL inside the path, which is handled next.
    if (NextUrl(text, begin) < query) continue;
    shown.append(text, copied, query - copied);
    shown += kHidden;
    copied = end;
  }
  return shown.append(text, copied);
}

}  // namespace feedmill

#include "core/formats/image_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/base/data_warnings.h"
#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/file_list.h"
#include "core/io/file_systems.h"
#include "core/io/side_by_side.h"

namespace feedmill {
namespace {

// Returns the suffix of a name, from its last '.' to the end; "" if there is
// none.
std::string_view SuffixOf(std::string_view name) {
  // A URL may end with a query.
  if (!SchemeOf(name).empty()) name = name.substr(0, name.find('?'));
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot <= base ? std::string_view()
                                                      : name.substr(dot);
}

// True if `pattern` is the name of this one file, as a path or URL.
bool Names(const std::string& pattern, const FoundFile& file) {
  const std::string literal = LiteralPattern(pattern).value_or(pattern);
  return pattern.ends_with(file.name) || literal.ends_with(file.name);
}

absl::StatusOr<bool> HasImageHead(const std::string& name) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(name));
  std::array<char, kImageHeadBytes> head{};
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file->Read(0, std::as_writable_bytes(std::span<char>(head))));
  return BeginsAsImage({head.data(), got});
}

// Sets is_image[k] of the files whose names do not decide, by their first
// bytes. A store gets the requests side by side.
absl::Status LookAtHeads(std::span<const FoundFile> files,
                         std::vector<char>& is_image) {
  constexpr size_t kReadTogether = 32;
  std::vector<size_t> unknown;
  for (size_t k = 0; k < files.size(); ++k) {
    if (is_image[k] == 0) unknown.push_back(k);
  }
  return ForEachSideBySide(
      unknown.size(), kReadTogether, [&](size_t u) -> absl::Status {
        const size_t k = unknown[u];
        FM_ASSIGN_OR_RETURN(const bool image, HasImageHead(files[k].name));
        is_image[k] = image ? 1 : 0;
        return absl::OkStatus();
      });
}

}  // namespace

bool HasImageSuffix(std::string_view name) {
  static constexpr std::string_view kSuffixes[] = {
      ".jpg",  ".jpeg", ".jpe",  ".jfif", ".png", ".webp", ".gif",
      ".bmp",  ".tif",  ".tiff", ".ppm",  ".pgm", ".pnm",  ".pbm",
      ".avif", ".heic", ".heif", ".jp2",  ".jxl"};
  std::string suffix(SuffixOf(name));
  for (char& c : suffix) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(std::begin(kSuffixes), std::end(kSuffixes), suffix) !=
         std::end(kSuffixes);
}

bool BeginsAsImage(std::string_view head) {
  using std::string_view_literals::operator""sv;
  const auto has = [&](size_t at, std::string_view text) {
    return head.size() >= at + text.size() && head.substr(at).starts_with(text);
  };
  // The four bytes behind the size of a BMP are reserved.
  return has(0, "\xff\xd8\xff") || has(0, "\x89PNG") ||
         (has(0, "RIFF") && has(8, "WEBP")) || has(0, "GIF8") ||
         (has(0, "BM") && has(6, "\0\0\0\0"sv)) || has(0, "II*\0"sv) ||
         has(0, "MM\0*"sv);
}

absl::StatusOr<std::vector<FoundFile>> ImagesAmong(
    const std::string& pattern, std::vector<FoundFile> found) {
  if (!FileListOf(pattern).empty()) return found;
  if (found.size() == 1 && Names(pattern, found[0])) return found;
  std::vector<char> is_image(found.size());  // not bool: threads write to it
  for (size_t k = 0; k < found.size(); ++k) {
    const std::string_view suffix = SuffixOf(found[k].name);
    const bool named = HasImageSuffix(found[k].name) ||
                       (!suffix.empty() && pattern.ends_with(suffix));
    is_image[k] = named ? 1 : 0;
  }
  FM_RETURN_IF_ERROR(LookAtHeads(found, is_image));
  std::string first_left_out;
  size_t kept = 0;
  for (size_t k = 0; k < found.size(); ++k) {
    if (is_image[k] != 0) {
      if (kept != k) found[kept] = std::move(found[k]);
      ++kept;
    } else if (first_left_out.empty()) {
      first_left_out = found[k].name;
    }
  }
  const size_t left_out = found.size() - kept;
  if (kept == 0) {
    return NotFound(
        "{}: none of the {} file(s) there is an image, by suffix or first "
        "bytes; the first is {}",
        LiteralPattern(pattern).value_or(pattern), left_out, first_left_out);
  }
  if (left_out > 0) {
    NoteDataWarning(DataWarning::kNoImage, first_left_out, left_out);
  }
  found.resize(kept);
  return found;
}

}  // namespace feedmill

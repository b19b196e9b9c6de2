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
  std::string suffix(SuffixOf(name));
  for (char& c : suffix) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::ranges::find(kImageSuffixes, suffix) != kImageSuffixes.end();
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

namespace {

constexpr size_t kIntegerLabelDigitsMax = 18;

bool IsIntegerLabel(std::string_view name) {
  if (name.empty() || name.size() > kIntegerLabelDigitsMax) return false;
  if (name.front() == '0' && name.size() > 1) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string_view ImageLabelName(std::string_view path,
                                ImagesSource::Label label) {
  const size_t slash = path.rfind('/');
  const std::string_view name =
      slash == std::string_view::npos ? path : path.substr(slash + 1);
  switch (label) {
    case ImagesSource::Label::kFolder: {
      if (slash == std::string_view::npos) return {};
      const std::string_view folder = path.substr(0, slash);
      const size_t above = folder.rfind('/');
      return above == std::string_view::npos ? folder
                                             : folder.substr(above + 1);
    }
    case ImagesSource::Label::kFilename: {
      const size_t dot = name.rfind('.');
      const std::string_view stem = dot == std::string_view::npos || dot == 0
                                        ? name
                                        : name.substr(0, dot);
      const size_t underscore = stem.rfind('_');
      return underscore == std::string_view::npos ? stem
                                                  : stem.substr(underscore + 1);
    }
  }
  return {};
}

int64_t ImageLabel(std::string_view name,
                   const std::vector<std::string>& classes) {
  if (classes.empty()) {
    uint64_t value = 0;
    for (const char c : name.substr(0, kIntegerLabelDigitsMax)) {
      value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    return static_cast<int64_t>(value);
  }
  return std::lower_bound(classes.begin(), classes.end(), name) -
         classes.begin();
}

std::vector<std::string> LabelClasses(const std::vector<ManifestFile>& files,
                                      ImagesSource::Label label) {
  std::vector<std::string> names;
  bool all_integers = true;
  for (const ManifestFile& file : files) {
    const std::string_view name = ImageLabelName(file.path, label);
    all_integers = all_integers && IsIntegerLabel(name);
    // Files of one folder are adjacent: this removes most repeats.
    if (names.empty() || names.back() != name) names.emplace_back(name);
  }
  if (all_integers) return {};
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace feedmill

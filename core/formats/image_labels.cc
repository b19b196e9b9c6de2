#include "core/formats/image_labels.h"

#include <algorithm>

namespace feedmill {
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

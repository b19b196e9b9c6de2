#ifndef FEEDMILL_CORE_FORMATS_IMAGE_FILES_H_
#define FEEDMILL_CORE_FORMATS_IMAGE_FILES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/io/file_system.h"
#include "core/io/manifest.h"
#include "core/sources/record_source.h"

namespace feedmill {

inline constexpr std::array<std::string_view, 19> kImageSuffixes = {
    ".jpg",  ".jpeg", ".jpe",  ".jfif", ".png", ".webp", ".gif",
    ".bmp",  ".tif",  ".tiff", ".ppm",  ".pgm", ".pnm",  ".pbm",
    ".avif", ".heic", ".heif", ".jp2",  ".jxl"};
// True if the name ends like an image's, in any case: ".jpg", ".PNG", …
bool HasImageSuffix(std::string_view name);

// True if a file with these first bytes is a JPEG, PNG, WebP, GIF, BMP or TIFF.
// The first kImageHeadBytes are enough.
inline constexpr size_t kImageHeadBytes = 12;
bool BeginsAsImage(std::string_view head);

// Selects the files that an images source reads from `found`, the files that
// `pattern` matches. If the pattern is a folder or a glob, files that are
// images neither by suffix nor by first bytes are left out. A data warning
// gives their number. A file that the pattern names, or whose suffix it spells
// out ("*.dat"), is always read. NotFound if no file is left. Opens only files
// without an image suffix.
absl::StatusOr<std::vector<FoundFile>> ImagesAmong(
    const std::string& pattern, std::vector<FoundFile> found);

// ImageLabelName returns the name that labels an image (graph.h). ImageLabel
// returns its number: the name as an integer if `classes` is empty (all names
// are integers), else its index in `classes`.
std::string_view ImageLabelName(std::string_view path,
                                ImagesSource::Label label);
int64_t ImageLabel(std::string_view name,
                   const std::vector<std::string>& classes);

// Returns the sorted label names of a manifest's files. Empty if all are
// integers.
std::vector<std::string> LabelClasses(const std::vector<ManifestFile>& files,
                                      ImagesSource::Label label);

// Returns the source of the bytes of a manifest's files, one component.
std::unique_ptr<const RecordSource> MakeImageFiles(
    std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_IMAGE_FILES_H_

#ifndef FEEDMILL_CORE_FORMATS_IMAGE_FILES_H_
#define FEEDMILL_CORE_FORMATS_IMAGE_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

// True if the name ends like that of an image: ".jpg", ".PNG", …
bool HasImageSuffix(std::string_view name);

// True if a file with these first bytes is a JPEG, PNG, WebP, GIF or TIFF.
// kImageHeadBytes of them suffice.
inline constexpr size_t kImageHeadBytes = 12;
bool BeginsAsImage(std::string_view head);

// Returns those of the files that `pattern` of an images source matches which
// the source reads. A folder or a glob leaves out files that are images neither
// by suffix nor by first bytes, and counts them in a data warning. A file that
// the pattern names, or whose suffix it spells out ("*.dat"), is always read.
// NotFound if no file is left. Opens only files without an image's suffix.
absl::StatusOr<std::vector<FoundFile>> ImagesAmong(
    const std::string& pattern, std::vector<FoundFile> found);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_IMAGE_FILES_H_

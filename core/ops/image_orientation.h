#ifndef FEEDMILL_CORE_OPS_IMAGE_ORIENTATION_H_
#define FEEDMILL_CORE_OPS_IMAGE_ORIENTATION_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "core/dataset/image_box.h"

namespace feedmill {

// The way from stored pixels to the shown image: pixel (y, x) of it is the
// stored one at (y, x), or at (x, y) with `transpose`; flips count that row or
// column from the end.
struct Orientation {
  bool transpose = false;
  bool flip_rows = false;
  bool flip_columns = false;

  bool changes() const { return transpose || flip_rows || flip_columns; }
  // The size of the shown image, or of the stored one for a shown size.
  ImageSize Turned(ImageSize size) const;
  // The stored box of a box of the shown image. `stored` is the whole size.
  ImageBox StoredBox(const ImageBox& shown, ImageSize stored) const;
};

// Returns the EXIF orientation of a JPEG (APP1), PNG (eXIf) or WebP (EXIF)
// file. Unchanged if the file has none, or a damaged one. Never fails. Source:
// CIPA DC-008, tag 274, and ISO 12234-2 (TIFF).
Orientation ReadOrientation(std::string_view file);

// Writes the box of the shown image; nullopt: all of it. Leaves other pixels as
// they are. REQUIRES: both ranges have height * width * pixel_bytes bytes, and
// do not overlap.
void OrientPixels(std::span<const std::byte> stored, ImageSize stored_size,
                  size_t pixel_bytes, Orientation orientation,
                  const std::optional<ImageBox>& box,
                  std::span<std::byte> shown);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_ORIENTATION_H_

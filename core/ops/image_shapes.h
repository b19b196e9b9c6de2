#ifndef FEEDMILL_CORE_OPS_IMAGE_SHAPES_H_
#define FEEDMILL_CORE_OPS_IMAGE_SHAPES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/ops/image.h"

namespace feedmill {

// Returns the axis of the height; the axis of the width follows it. An image is
// [height, width] or [..., height, width, channels]. InvalidArgument if `dims`
// is no image.
absl::StatusOr<size_t> HeightAxis(std::string_view function,
                                  std::span<const int64_t> dims);

// The images of one row: all have one size and are adjacent.
struct RowImages {
  int64_t count = 1;
  ImageSize size;
  int64_t channels = 1;

  // REQUIRES: at least two known dims.
  explicit RowImages(std::span<const int64_t> dims);
};

// Returns the box if it is within the image.
std::optional<ImageBox> Within(const ImageBox& box, ImageSize image);

// Declares row `row` of a result. Its images had shape `given` and now have
// `size`. For uniform rows, only the first call has an effect.
void EndImagesRow(std::span<const int64_t> given, ImageSize size, bool ragged,
                  size_t row, OutputColumn& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_SHAPES_H_

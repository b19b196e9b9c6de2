#ifndef FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_
#define FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/ops/image_shapes.h"

// Shared parts of functions that resize images.

namespace feedmill {

// Returns OpenCV's number of the method that a constant names.
absl::StatusOr<int> Interpolation(std::string_view function,
                                  const ValueType& method);

// A box inside an image.
struct ImageBox {
  int64_t top = 0;
  int64_t left = 0;
  ImageSize size;
};

// Returns the type of `images` after resizing to a constant height and width.
// InvalidArgument if they cannot be resized.
absl::StatusOr<ValueType> ResizedType(std::string_view function,
                                      const ValueType& images,
                                      const ValueType& height,
                                      const ValueType& width);

// Resizes the box of each image of a row to `to`, and writes it to `target`.
// DataLoss if an image has no or too many pixels. REQUIRES: ResizedType accepts
// the dtype.
absl::Status ResizeBoxes(std::string_view function, const std::byte* source,
                         const RowImages& images, const ImageBox& box,
                         DType dtype, int interpolation, std::byte* target,
                         ImageSize to);

// Resizes every row of `images`. box(row, its images) returns the box to
// resize, or an error.
using BoxOfRow = std::function<absl::StatusOr<ImageBox>(
    size_t row, const RowImages& images)>;
absl::Status ResizeRows(std::string_view function, const Argument& images,
                        size_t rows, const ValueType& type, int interpolation,
                        const BoxOfRow& box, OutputColumn& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_

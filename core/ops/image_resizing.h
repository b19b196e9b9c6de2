#ifndef FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_
#define FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/ops/image_shapes.h"

// What functions that resize share.

namespace feedmill {

// OpenCV's number of the method that a constant names.
absl::StatusOr<int> Interpolation(std::string_view function,
                                  const ValueType& method);

// A part of an image, within it.
struct ImageBox {
  int64_t top = 0;
  int64_t left = 0;
  ImageSize size;
};

// The type of `images` when they are resized to a constant height and width;
// InvalidArgument for what cannot be.
absl::StatusOr<ValueType> ResizedType(std::string_view function,
                                      const ValueType& images,
                                      const ValueType& height,
                                      const ValueType& width);

// Writes the box of each image of a row, resized to `to`, to `target`. DataLoss
// for images of no or too many pixels. REQUIRES: the dtype is one that
// ResizedType takes.
absl::Status ResizeBoxes(std::string_view function, const std::byte* source,
                         const RowImages& images, const ImageBox& box,
                         DType dtype, int interpolation, std::byte* target,
                         ImageSize to);

// Resizes every row of `images`: box(row, its images) tells which part, or why
// none.
using BoxOfRow = std::function<absl::StatusOr<ImageBox>(
    size_t row, const RowImages& images)>;
absl::Status ResizeRows(std::string_view function, const Argument& images,
                        size_t rows, const ValueType& type, int interpolation,
                        const BoxOfRow& box, OutputColumn& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_

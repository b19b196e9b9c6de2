#ifndef FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_
#define FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/ops/image.h"
#include "core/ops/image_shapes.h"

// Shared parts of functions that resize images.

namespace feedmill {

struct Resampling {
  int interpolation = 0;   // OpenCV's number of the method
  bool antialias = false;  // as ResizeAntialias
};

// Returns the method that a constant names.
absl::StatusOr<Resampling> ResamplingOf(std::string_view function,
                                        const ValueType& method);
// InvalidArgument unless `word` is the constant 'antialias', and antialiasing
// is defined for the method and the dtype.
absl::Status AddAntialias(std::string_view function, const ValueType& word,
                          DType dtype, Resampling& resampling);

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
                         DType dtype, Resampling resampling, std::byte* target,
                         ImageSize to);

// Resizes every row of `images`. box(row, its images) returns the box to
// resize, or an error; size(its images) the size of the result.
using BoxOfRow = std::function<absl::StatusOr<ImageBox>(
    size_t row, const RowImages& images)>;
using SizeOfRow = std::function<ImageSize(const RowImages& images)>;
absl::Status ResizeRows(std::string_view function, const Argument& images,
                        size_t rows, const ValueType& type,
                        Resampling resampling, const BoxOfRow& box,
                        const SizeOfRow& size, OutputColumn& out);
// Returns the size of a result whose type has constant sides.
SizeOfRow ConstantSize(const ValueType& type);

// Resizes an image of three 8-bit channels to the same bits as OpenCV's
// INTER_LINEAR, in a fraction of the time. Returns false without any effect if
// OpenCV has to do it: LoopTarget() is below kAvx2, the sizes are the same, or
// both sides are halved (OpenCV then takes means).
//
// `source` begins with the first pixel of the image; its rows begin `row_bytes`
// apart. Bytes after its end are not read. `target` has no gaps between rows.
// REQUIRES: the sizes are within the limits of image.h, and both ranges are
// large enough.
bool ResizeRgbBilinear(std::span<const uint8_t> source, size_t row_bytes,
                       ImageSize from, uint8_t* target, ImageSize to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_RESIZING_H_

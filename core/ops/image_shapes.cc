#include "core/ops/image_shapes.h"

#include "core/base/status.h"
#include "core/ops/row_items.h"

namespace feedmill {

absl::StatusOr<size_t> HeightAxis(std::string_view function,
                                  std::span<const int64_t> dims) {
  if (dims.size() >= 2) return dims.size() == 2 ? 0 : dims.size() - 3;
  return InvalidArgument(
      "{} takes images, [height, width, channels], not {} dimension{}",
      function, dims.size(), dims.size() == 1 ? "" : "s");
}

RowImages::RowImages(std::span<const int64_t> dims) {
  const size_t axis = dims.size() == 2 ? 0 : dims.size() - 3;
  count = Product(dims.first(axis));
  size = {dims[axis], dims[axis + 1]};
  if (dims.size() > 2) channels = dims.back();
}

std::optional<ImageBox> Within(const ImageBox& box, ImageSize image) {
  const auto fits = [](int64_t begin, int64_t size, int64_t all) {
    return begin >= 0 && size >= 1 && size <= all && begin <= all - size;
  };
  if (!fits(box.top, box.size.height, image.height) ||
      !fits(box.left, box.size.width, image.width)) {
    return std::nullopt;
  }
  return box;
}

void EndImagesRow(std::span<const int64_t> given, ImageSize size, bool ragged,
                  size_t row, OutputColumn& out) {
  if (!ragged && row > 0) return;
  Shape dims(given.begin(), given.end());
  const size_t axis = dims.size() == 2 ? 0 : dims.size() - 3;
  dims[axis] = size.height;
  dims[axis + 1] = size.width;
  if (ragged) {
    EndRaggedRow(dims, out);
  } else {
    out.shape = dims;
  }
}

}  // namespace feedmill

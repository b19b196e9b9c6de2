#ifndef FEEDMILL_CORE_DATASET_IMAGE_BOX_H_
#define FEEDMILL_CORE_DATASET_IMAGE_BOX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace feedmill {

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// A box inside an image.
struct ImageBox {
  int64_t top = 0;
  int64_t left = 0;
  ImageSize size;
};

// Returns the box of the image of a row, by its size, whose pixels are read.
// nullopt: all of them.
using BoxOfImage =
    std::function<std::optional<ImageBox>(size_t row, ImageSize)>;

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_IMAGE_BOX_H_

#ifndef FEEDMILL_CORE_OPS_THUMBNAIL_H_
#define FEEDMILL_CORE_OPS_THUMBNAIL_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/dataset/image_box.h"

namespace feedmill {

// A small picture: rows of RGB pixels.
struct Thumbnail {
  ImageSize size{};
  std::vector<uint8_t> pixels{};
};

// Returns an encoded image in a size of at most `side` by `side` pixels;
// nullopt if the bytes are no image that can be decoded.
std::optional<Thumbnail> ThumbnailOf(std::string_view bytes, int64_t side);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_THUMBNAIL_H_

#include "core/ops/thumbnail.h"

#include <algorithm>

#include "core/ops/image.h"

namespace feedmill {

std::optional<Thumbnail> ThumbnailOf(std::string_view bytes, int64_t side) {
  constexpr int64_t kChannels = 3;
  ImageDecoder decoder;
  const auto whole = decoder.ReadSize(bytes);
  if (!whole.ok()) return std::nullopt;
  const int64_t longer = std::max({whole->width, whole->height, side});
  const ImageSize small{std::max<int64_t>(2, whole->height * side / longer),
                        std::max<int64_t>(2, whole->width * side / longer)};
  const DecodeOptions options{.at_least = small};
  const auto size = decoder.ReadSize(bytes, options);
  if (!size.ok()) return std::nullopt;
  const auto bytes_of = [](ImageSize of) {
    return static_cast<size_t>(of.height * of.width * kChannels);
  };
  std::vector<uint8_t> pixels(bytes_of(*size));
  Thumbnail thumbnail{small, std::vector<uint8_t>(bytes_of(small))};
  if (!decoder.Decode(bytes, options, *size, pixels).ok() ||
      !ResizeImage(pixels, *size, thumbnail.pixels, small, kChannels,
                   ResizeMethod::kBilinear)
           .ok()) {
    return std::nullopt;
  }
  return thumbnail;
}

}  // namespace feedmill

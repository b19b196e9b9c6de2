#include "core/ops/webp_image.h"

#include <webp/decode.h>

#include <vector>

#include "core/base/status.h"
#include "core/ops/luma.h"

namespace feedmill {
namespace {

const uint8_t* BytesOf(std::string_view file) {
  return reinterpret_cast<const uint8_t*>(file.data());
}

absl::Status DecodeRgb(std::string_view file, ImageSize size,
                       std::span<uint8_t> pixels) {
  const uint8_t* const made =
      WebPDecodeRGBInto(BytesOf(file), file.size(), pixels.data(),
                        pixels.size(), static_cast<int>(size.width) * 3);
  if (made != nullptr) return absl::OkStatus();
  return DataLoss("WebP: the file is corrupt or truncated");
}

}  // namespace

bool IsWebp(std::string_view file) {
  return file.starts_with("RIFF") && file.size() >= 12 &&
         file.substr(8, 4) == "WEBP";
}

absl::StatusOr<ImageSize> ReadWebpSize(std::string_view file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(BytesOf(file), file.size(), &features) != VP8_STATUS_OK) {
    return DataLoss("WebP: no image header");
  }
  if (features.has_animation != 0) {
    return DataLoss("WebP: an animation; store its frames as images");
  }
  return ImageSize{features.height, features.width};
}

absl::Status DecodeWebp(std::string_view file, int64_t channels, ImageSize size,
                        std::span<uint8_t> pixels) {
  if (channels == 3) return DecodeRgb(file, size, pixels);
  std::vector<uint8_t> rgb(pixels.size() * 3);
  FM_RETURN_IF_ERROR(DecodeRgb(file, size, rgb));
  for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = Luma(&rgb[k * 3]);
  return absl::OkStatus();
}

}  // namespace feedmill

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "core/base/status.h"
#include "core/ops/image_formats.h"

namespace feedmill {
namespace {

const uint8_t* BytesOf(std::string_view file) {
  return reinterpret_cast<const uint8_t*>(file.data());
}

absl::StatusOr<WebPBitstreamFeatures> ReadFeatures(std::string_view file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(BytesOf(file), file.size(), &features) != VP8_STATUS_OK) {
    return DataLoss("WebP: no image header");
  }
  return features;
}

// Returns false if the file is corrupt or truncated.
bool DecodeFirstOfAnimation(std::string_view file, size_t channels,
                            std::span<uint8_t> pixels) {
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) return false;
  options.color_mode = MODE_RGBA;
  const WebPData data{BytesOf(file), file.size()};
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)>
      decoder(WebPAnimDecoderNew(&data, &options), &WebPAnimDecoderDelete);
  uint8_t* rgba = nullptr;  // of the decoder
  int end_of_frame = 0;     // in milliseconds
  if (decoder == nullptr ||
      WebPAnimDecoderGetNext(decoder.get(), &rgba, &end_of_frame) == 0) {
    return false;
  }
  for (size_t k = 0; k < pixels.size(); k += channels, rgba += 4) {
    std::copy(rgba, rgba + channels, &pixels[k]);
  }
  return true;
}

}  // namespace

bool IsWebp(std::string_view file) {
  return file.starts_with("RIFF") && file.size() >= 12 &&
         file.substr(8, 4) == "WEBP";
}

absl::StatusOr<ImageSize> ReadWebpSize(std::string_view file) {
  FM_ASSIGN_OR_RETURN(const WebPBitstreamFeatures features, ReadFeatures(file));
  return ImageSize{features.height, features.width};
}

absl::Status DecodeWebp(std::string_view file, ImageSize size, int64_t channels,
                        std::span<uint8_t> pixels) {
  FM_ASSIGN_OR_RETURN(const WebPBitstreamFeatures features, ReadFeatures(file));
  const auto decode = channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  const bool decoded =
      features.has_animation != 0
          ? DecodeFirstOfAnimation(file, static_cast<size_t>(channels), pixels)
          : decode(BytesOf(file), file.size(), pixels.data(), pixels.size(),
                   static_cast<int>(size.width * channels)) != nullptr;
  if (decoded) return absl::OkStatus();
  return DataLoss("WebP: the file is corrupt or truncated");
}

}  // namespace feedmill

// Image files from outside: any bytes give pixels or DataLoss; a JPEG file that
// is decoded in the usual way has the pixels that libjpeg alone makes of it.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/ops/image.h"
#include "core/ops/jpeg_image.h"

namespace {

void CompareWays(std::string_view file, const feedmill::DecodeOptions& options,
                 feedmill::ImageSize size, const absl::Status& status,
                 const std::vector<uint8_t>& pixels) {
  static feedmill::JpegDecoder decoder;
  std::vector<uint8_t> usual(pixels.size());
  if (!decoder.DecodeUsual(file, options, size, usual)) return;
  std::vector<uint8_t> any(pixels.size());
  FM_CHECK(status.ok());
  FM_CHECK(decoder.DecodeAny(file, options, size, any).ok());
  FM_CHECK(usual == any && pixels == any);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kPixelsMax = 1 << 20;  // keeps an input's cost small
  static feedmill::ImageDecoder decoder;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto dims = decoder.ReadSize(file);
  FM_CHECK(dims.ok() || absl::IsDataLoss(dims.status()));
  if (!dims.ok() || dims->height * dims->width > kPixelsMax) return 0;
  for (const feedmill::DecodeOptions& options :
       {feedmill::DecodeOptions{1, true, {}},
        feedmill::DecodeOptions{3, true, {}, true, false},
        feedmill::DecodeOptions{3, false, {}, false, true},
        feedmill::DecodeOptions{3, false, feedmill::ImageSize{2, 3}}}) {
    const feedmill::ImageSize made = decoder.ReadSize(file, options).value();
    std::vector<uint8_t> pixels(
        static_cast<size_t>(made.height * made.width * options.channels));
    const absl::Status status = decoder.Decode(file, options, made, pixels);
    FM_CHECK(status.ok() || absl::IsDataLoss(status));
    if (feedmill::IsJpeg(file)) {
      CompareWays(file, options, made, status, pixels);
    }
  }
  return 0;
}

// JPEG files from outside: a file that QuickJpeg decodes has the pixels that
// libjpeg alone makes of it, and libjpeg finds no error in it.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/ops/image.h"
#include "core/ops/jpeg/quick_jpeg.h"
#include "core/ops/jpeg_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kPixelsMax = 1 << 20;  // keeps an input's cost small
  static feedmill::JpegDecoder decoder;
  static feedmill::QuickJpeg quick;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  if (!feedmill::IsJpeg(file)) return 0;
  const auto dims = decoder.ReadSize(file);
  if (!dims.ok() || dims->height * dims->width > kPixelsMax) return 0;
  for (const feedmill::DecodeOptions& options :
       {feedmill::DecodeOptions{1, true, {}},
        feedmill::DecodeOptions{3, true, {}, true, false},
        feedmill::DecodeOptions{3, false, {}, false, true}}) {
    for (const int64_t scale : {1, 2, 4, 8}) {
      const feedmill::ImageSize made{(dims->height + scale - 1) / scale,
                                     (dims->width + scale - 1) / scale};
      if (scale > 1 && (made.height < 2 || made.width < 2)) break;
      const auto bytes =
          static_cast<size_t>(made.height * made.width * options.channels);
      std::vector<uint8_t> quickly(bytes);
      if (!quick.Decode(file, options, made, quickly)) continue;
      std::vector<uint8_t> plainly(bytes);
      FM_CHECK(decoder.DecodeAny(file, options, made, plainly).ok());
      FM_CHECK(quickly == plainly);
    }
  }
  return 0;
}

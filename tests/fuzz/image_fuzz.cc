// Image files from outside: any bytes give pixels or DataLoss.
// core/ops/jpeg/quick_jpeg_fuzz.cc compares the two ways of decoding JPEG
// files.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/ops/image.h"
#include "core/ops/image_libraries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kPixelsMax = 1 << 20;  // keeps an input's cost small
  feedmill::UseImageLibraries();
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
  }
  return 0;
}

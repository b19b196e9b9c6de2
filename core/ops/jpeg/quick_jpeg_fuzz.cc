// JPEG files from outside: a file that QuickJpeg decodes has the pixels that
// libjpeg alone makes of it, and libjpeg finds no error in it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/ops/image.h"
#include "core/ops/jpeg/quick_jpeg.h"
#include "core/ops/jpeg_image.h"

namespace {

// A box within the image, by the last bytes of the file.
feedmill::ImageBox BoxFor(const uint8_t* data, size_t size,
                          feedmill::ImageSize image) {
  const auto number = [&](size_t from_end) {
    return size < from_end ? int64_t{0} : int64_t{data[size - from_end]};
  };
  feedmill::ImageBox box;
  box.top = number(3) % image.height;
  box.left = number(4) % image.width;
  box.size.height = 1 + number(5) % (image.height - box.top);
  box.size.width = 1 + number(6) % (image.width - box.left);
  return box;
}

bool SameIn(const feedmill::ImageBox& box, const std::vector<uint8_t>& a,
            const std::vector<uint8_t>& b, feedmill::ImageSize image,
            int64_t channels) {
  for (int64_t y = box.top; y < box.top + box.size.height; ++y) {
    const auto begin = (y * image.width + box.left) * channels;
    const auto end = begin + box.size.width * channels;
    if (!std::equal(a.begin() + begin, a.begin() + end, b.begin() + begin)) {
      return false;
    }
  }
  return true;
}

}  // namespace

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
      feedmill::DecodeOptions part = options;
      part.needed = BoxFor(data, size, made);
      std::vector<uint8_t> box(bytes);
      const bool decoded = quick.Decode(file, part, made, box);
      if (!quick.Decode(file, options, made, quickly)) continue;
      std::vector<uint8_t> plainly(bytes);
      FM_CHECK(decoder.DecodeAny(file, options, made, plainly).ok());
      FM_CHECK(quickly == plainly);
      FM_CHECK(!decoded ||
               SameIn(*part.needed, plainly, box, made, options.channels));
    }
  }
  return 0;
}

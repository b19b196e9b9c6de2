#ifndef FEEDMILL_CORE_OPS_JPEG_IMAGE_H_
#define FEEDMILL_CORE_OPS_JPEG_IMAGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/ops/image.h"

namespace feedmill {

bool IsJpeg(std::string_view file);

// Decodes JPEG files as libjpeg-turbo does, to the bit. Thread-compatible.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // The whole size. DataLoss if the header is damaged, or for CMYK.
  absl::StatusOr<ImageSize> ReadSize(std::string_view file);
  // REQUIRES: `size` is ReadSize's, or an eighth, a quarter or half of it,
  // rounded up, with sides of 2 or more; pixels.size() == height * width *
  // channels. DataLoss if the options do not accept the image.
  absl::Status Decode(std::string_view file, const DecodeOptions& options,
                      ImageSize size, std::span<uint8_t> pixels);

  // The two ways of Decode, for tests. False: the file is not as most are
  // (baseline, sound, one scan, no restart markers), and nothing is told of it.
  bool DecodeUsual(std::string_view file, const DecodeOptions& options,
                   ImageSize size, std::span<uint8_t> pixels);
  absl::Status DecodeAny(std::string_view file, const DecodeOptions& options,
                         ImageSize size, std::span<uint8_t> pixels);

 private:
  class Libjpeg;
  class Any;
  class Usual;
  std::unique_ptr<Any> any_;
  std::unique_ptr<Usual> usual_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_JPEG_IMAGE_H_

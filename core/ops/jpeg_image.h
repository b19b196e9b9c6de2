#ifndef FEEDMILL_CORE_OPS_JPEG_IMAGE_H_
#define FEEDMILL_CORE_OPS_JPEG_IMAGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/ops/image.h"

namespace feedmill {

class QuickJpeg;

bool IsJpeg(std::string_view file);

// Decodes JPEG files bit for bit as libjpeg-turbo does. Thread-compatible.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Returns the full size. DataLoss if the header is damaged.
  absl::StatusOr<ImageSize> ReadSize(std::string_view file);
  // REQUIRES: `size` is the result of ReadSize or 1/8, 1/4 or 1/2 of it,
  // rounded up, with sides of at least 2; pixels.size() == height * width *
  // channels. DataLoss if the options do not accept the image.
  absl::Status Decode(std::string_view file, const DecodeOptions& options,
                      ImageSize size, std::span<uint8_t> pixels);

  // Decode without QuickJpeg, for tests.
  absl::Status DecodeAny(std::string_view file, const DecodeOptions& options,
                         ImageSize size, std::span<uint8_t> pixels);

 private:
  class Any;
  std::unique_ptr<Any> any_;
  std::unique_ptr<QuickJpeg> quick_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_JPEG_IMAGE_H_

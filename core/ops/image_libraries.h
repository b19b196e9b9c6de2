#ifndef FEEDMILL_CORE_OPS_IMAGE_LIBRARIES_H_
#define FEEDMILL_CORE_OPS_IMAGE_LIBRARIES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/ops/image_formats.h"

// Image formats that libraries of the system decode: libtiff and libheif. They
// are loaded for the first image of their kind.

namespace feedmill {

// Has decoders read TIFF, HEIF and AVIF, too. A process without the library of
// an image throws MachineError, which names its Debian package.
void UseImageLibraries();

// The TIFF part of ImageDecoder. Samples of 8 and 16 bits are read as they are;
// palettes, bits, CMYK and YCbCr become RGB by libtiff. Only the first image of
// a file is read.
absl::StatusOr<ImageSize> ReadTiffSize(std::string_view file);
absl::Status DecodeTiff(std::string_view file, ImageSize size, int64_t channels,
                        std::span<uint8_t> pixels);
absl::Status DecodeWideTiff(std::string_view file, ImageSize size,
                            int64_t channels, std::span<uint16_t> pixels);

bool IsHeif(std::string_view file);

// The part of ImageDecoder for HEIF and AVIF: the primary image, turned and
// cropped as the file says.
absl::StatusOr<ImageSize> ReadHeifSize(std::string_view file);
absl::Status DecodeHeif(std::string_view file, ImageSize size, int64_t channels,
                        std::span<uint8_t> pixels);

// Throws MachineError: files of this kind need the library.
[[noreturn]] void ThrowNoLibrary(std::string_view kind,
                                 std::string_view library,
                                 std::string_view package,
                                 const std::string& why);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_LIBRARIES_H_

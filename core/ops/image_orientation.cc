#include "core/ops/image_orientation.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/ops/image_formats.h"
#include "core/ops/jpeg_image.h"

namespace feedmill {
namespace {

constexpr std::string_view kExifPrefix("Exif\0\0", 6);

// Numbers of one byte order within bytes. Reads beyond the end give 0.
class Numbers {
 public:
  Numbers(std::string_view bytes, bool big) : bytes_(bytes), big_(big) {}

  uint32_t At(size_t at, size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    uint32_t value = 0;
    for (size_t k = 0; k < size; ++k) {
      const size_t byte = big_ ? at + k : at + size - 1 - k;
      value = value << 8 | static_cast<unsigned char>(bytes_[byte]);
    }
    return value;
  }
  size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool big_;
};

std::string_view From(std::string_view bytes, size_t at, size_t size) {
  return at < bytes.size() ? bytes.substr(at, size) : std::string_view();
}

// Returns the first EXIF segment before the pixels.
std::string_view ExifOfJpeg(std::string_view file) {
  constexpr unsigned kApp1 = 0xE1, kStartOfScan = 0xDA, kFill = 0xFF;
  const Numbers numbers(file, /*big=*/true);
  size_t at = 2;
  while (numbers.At(at, 1) == kFill) {
    const unsigned marker = numbers.At(at + 1, 1);
    if (marker == kFill) {
      ++at;
      continue;
    }
    const size_t length = numbers.At(at + 2, 2);  // with its own two bytes
    if (marker == kStartOfScan || length < 2) break;
    const std::string_view segment = From(file, at + 4, length - 2);
    if (marker == kApp1 && segment.starts_with(kExifPrefix)) {
      return segment.substr(kExifPrefix.size());
    }
    at += 2 + length;
  }
  return {};
}

// Returns the first eXIf chunk, which may follow the pixels.
std::string_view ExifOfPng(std::string_view file) {
  constexpr size_t kSignature = 8, kAround = 12;  // length, name and checksum
  const Numbers numbers(file, /*big=*/true);
  for (size_t at = kSignature; at + kAround <= file.size();) {
    const size_t length = numbers.At(at, 4);
    if (file.substr(at + 4, 4) == "eXIf") return From(file, at + 8, length);
    at += kAround + length;
  }
  return {};
}

std::string_view ExifOfWebp(std::string_view file) {
  constexpr size_t kHeader = 12, kChunkHeader = 8;
  const Numbers numbers(file, /*big=*/false);
  for (size_t at = kHeader; at + kChunkHeader <= file.size();) {
    const size_t length = numbers.At(at + 4, 4);
    if (file.substr(at, 4) == "EXIF") {
      std::string_view exif = From(file, at + kChunkHeader, length);
      if (exif.starts_with(kExifPrefix)) exif.remove_prefix(kExifPrefix.size());
      return exif;
    }
    at += kChunkHeader + length + length % 2;
  }
  return {};
}

// Returns the orientation in the first directory of a TIFF file; 1 if there is
// none.
uint32_t OrientationOfTiff(std::string_view tiff) {
  constexpr uint32_t kTag = 274, kShort = 3;
  constexpr size_t kEntryBytes = 12;
  const bool big = tiff.starts_with("MM");
  if (!big && !tiff.starts_with("II")) return 1;
  const Numbers numbers(tiff, big);
  const size_t directory = numbers.At(4, 4);
  const size_t entries = numbers.At(directory, 2);
  for (size_t k = 0; k < entries; ++k) {
    const size_t at = directory + 2 + k * kEntryBytes;
    if (at + kEntryBytes > numbers.size()) break;
    if (numbers.At(at, 2) != kTag) continue;
    return numbers.At(at + 2, 2) == kShort ? numbers.At(at + 8, 2) : 1;
  }
  return 1;
}

template <size_t kPixelBytes>
void CopyPixels(const std::byte* from, ptrdiff_t step, std::byte* to,
                int64_t count) {
  for (; count > 0; --count, from += step, to += kPixelBytes) {
    std::memcpy(to, from, kPixelBytes);
  }
}

using CopyPixelsFunction = void (*)(const std::byte*, ptrdiff_t, std::byte*,
                                    int64_t);

CopyPixelsFunction CopierOf(size_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1:
      return CopyPixels<1>;
    case 2:
      return CopyPixels<2>;
    case 3:
      return CopyPixels<3>;
    case 4:
      return CopyPixels<4>;
    case 6:
      return CopyPixels<6>;
    default:
      FM_CHECK(pixel_bytes == 8);
      return CopyPixels<8>;
  }
}

}  // namespace

ImageSize Orientation::Turned(ImageSize size) const {
  return transpose ? ImageSize{size.width, size.height} : size;
}

ImageBox Orientation::StoredBox(const ImageBox& shown, ImageSize stored) const {
  ImageBox box = shown;
  if (transpose) {
    box = {shown.left, shown.top, {shown.size.width, shown.size.height}};
  }
  if (flip_rows) box.top = stored.height - box.top - box.size.height;
  if (flip_columns) box.left = stored.width - box.left - box.size.width;
  return box;
}

Orientation ReadOrientation(std::string_view file) {
  const std::string_view exif = IsJpeg(file)   ? ExifOfJpeg(file)
                                : IsPng(file)  ? ExifOfPng(file)
                                : IsWebp(file) ? ExifOfWebp(file)
                                : IsTiff(file) ? file
                                               : std::string_view();
  // The transformations of the values 1 to 8.
  constexpr Orientation kOrientations[] = {
      {false, false, false}, {false, false, true}, {false, true, true},
      {false, true, false},  {true, false, false}, {true, true, false},
      {true, true, true},    {true, false, true}};
  const uint32_t value = OrientationOfTiff(exif);
  return value >= 1 && value <= 8 ? kOrientations[value - 1] : Orientation{};
}

void OrientPixels(std::span<const std::byte> stored, ImageSize stored_size,
                  size_t pixel_bytes, Orientation orientation,
                  const std::optional<ImageBox>& box,
                  std::span<std::byte> shown) {
  FM_CHECK(stored.size() == shown.size());
  const ImageSize size = orientation.Turned(stored_size);
  const ImageBox part = box.value_or(ImageBox{0, 0, size});
  const auto pixel = static_cast<ptrdiff_t>(pixel_bytes);
  const ptrdiff_t row = stored_size.width * pixel;
  const ptrdiff_t down = orientation.flip_rows ? -row : row;
  const ptrdiff_t right = orientation.flip_columns ? -pixel : pixel;
  const std::byte* const first =
      stored.data() +
      (orientation.flip_rows ? (stored_size.height - 1) * row : 0) +
      (orientation.flip_columns ? row - pixel : 0);
  const ptrdiff_t next_row = orientation.transpose ? right : down;
  const ptrdiff_t next_pixel = orientation.transpose ? down : right;
  // Lines of the cache that hold a transposed tile are read once.
  const int64_t kTile = orientation.transpose ? 32 : part.size.width;
  const CopyPixelsFunction copy = CopierOf(pixel_bytes);
  const int64_t end = part.left + part.size.width;
  for (int64_t left = part.left; left < end; left += kTile) {
    const int64_t count = std::min(kTile, end - left);
    for (int64_t y = part.top; y < part.top + part.size.height; ++y) {
      copy(first + y * next_row + left * next_pixel, next_pixel,
           shown.data() + (y * size.width + left) * pixel, count);
    }
  }
}

}  // namespace feedmill

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/ops/image_formats.h"

namespace feedmill {
namespace {

constexpr size_t kBmpHeaderBytes = 14;
// The second header has 12 bytes in files of OS/2 1, and at least 40 in others.
constexpr uint32_t kCoreHeaderBytes = 12;
constexpr uint32_t kInfoHeaderBytes = 40;

enum BmpCompression : uint32_t {
  kUncompressed = 0,
  kRle8 = 1,
  kRle4 = 2,
  kBitFields = 3,
  kAlphaBitFields = 6,
};

using ColorMasks = std::array<uint32_t, 3>;     // of red, green and blue
constexpr uint32_t kAlphaMaskHeaderBytes = 56;  // the first header with one
constexpr ColorMasks kMasks16 = {0x7C00, 0x3E0, 0x1F};
constexpr ColorMasks kMasks32 = {0xFF0000, 0xFF00, 0xFF};

struct BmpHeader {
  ImageSize size;
  bool top_down = false;  // the first row of the file is the top
  uint32_t bits = 0;      // of a pixel
  uint32_t compression = kUncompressed;
  ColorMasks masks{};  // of pixels without a palette
  uint32_t alpha_mask = 0;
  size_t palette_at = 0;
  size_t colors = 0;       // in the palette
  size_t color_bytes = 4;  // of an entry of the palette: blue, green, red, …
  size_t pixels_at = 0;
};

absl::Status BmpIsTruncated() { return DataLoss("BMP: the file is truncated"); }

// Reads the fields of a header of 40 bytes or more.
absl::Status ReadInfoHeader(std::string_view file, uint32_t bytes,
                            BmpHeader& header) {
  header.size.width = LoadLittleEndian<int32_t>(file, 18);
  header.size.height = LoadLittleEndian<int32_t>(file, 22);
  header.top_down = header.size.height < 0;
  if (header.top_down) header.size.height = -header.size.height;
  header.bits = LoadLittleEndian<uint16_t>(file, 28);
  header.compression = LoadLittleEndian<uint32_t>(file, 30);
  header.colors = LoadLittleEndian<uint32_t>(file, 46);
  header.masks = header.bits == 16 ? kMasks16 : kMasks32;
  if (header.compression != kBitFields &&
      header.compression != kAlphaBitFields) {
    return absl::OkStatus();
  }
  // Masks stand behind the 40 bytes, whether they are counted or not.
  constexpr size_t kMasksAt = kBmpHeaderBytes + kInfoHeaderBytes;
  if (file.size() < kMasksAt + sizeof(ColorMasks)) return BmpIsTruncated();
  const auto masks = LoadLittleEndian<ColorMasks>(file, kMasksAt);
  if (masks != ColorMasks{}) header.masks = masks;
  constexpr size_t kAlphaAt = kMasksAt + sizeof(ColorMasks);
  if (file.size() >= kAlphaAt + sizeof(uint32_t) &&
      (bytes >= kAlphaMaskHeaderBytes ||
       header.compression == kAlphaBitFields)) {
    header.alpha_mask = LoadLittleEndian<uint32_t>(file, kAlphaAt);
  }
  if (bytes == kInfoHeaderBytes) {
    header.palette_at += header.compression == kBitFields ? 12 : 16;
  }
  return absl::OkStatus();
}

// True if pixels of this size may be stored in this way.
bool IsBmpPixel(uint32_t bits, uint32_t compression) {
  switch (compression) {
    case kUncompressed:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 ||
             bits == 24 || bits == 32;
    case kRle8:
      return bits == 8;
    case kRle4:
      return bits == 4;
    case kBitFields:
    case kAlphaBitFields:
      return bits == 16 || bits == 24 || bits == 32;
    default:
      return false;
  }
}

absl::StatusOr<BmpHeader> ReadBmpHeader(std::string_view file) {
  if (file.size() < kBmpHeaderBytes + kCoreHeaderBytes) return BmpIsTruncated();
  const auto bytes = LoadLittleEndian<uint32_t>(file, kBmpHeaderBytes);
  if (bytes > file.size() - kBmpHeaderBytes) return BmpIsTruncated();
  BmpHeader header;
  header.pixels_at = LoadLittleEndian<uint32_t>(file, 10);
  header.palette_at = kBmpHeaderBytes + bytes;
  if (bytes == kCoreHeaderBytes) {
    header.size = {LoadLittleEndian<uint16_t>(file, 20),
                   LoadLittleEndian<uint16_t>(file, 18)};
    header.bits = LoadLittleEndian<uint16_t>(file, 24);
    header.masks = header.bits == 16 ? kMasks16 : kMasks32;
    header.color_bytes = 3;
  } else if (bytes >= kInfoHeaderBytes) {
    FM_RETURN_IF_ERROR(ReadInfoHeader(file, bytes, header));
  } else {
    return DataLoss("BMP: no header has {} bytes", bytes);
  }
  if (!IsBmpPixel(header.bits, header.compression)) {
    return DataLoss("BMP: {} bits a pixel with compression {} are not decoded",
                    header.bits, header.compression);
  }
  if (header.bits > 8) {
    header.colors = 0;
  } else if (header.colors == 0 || header.colors > 256) {
    header.colors = size_t{1} << header.bits;
  }
  if (header.pixels_at == 0) {
    header.pixels_at = header.palette_at + header.colors * header.color_bytes;
  }
  return header;
}

Palette ReadBmpPalette(std::string_view file, const BmpHeader& header) {
  Palette palette = BlackPalette();
  for (size_t k = 0; k < header.colors; ++k) {
    const size_t at = header.palette_at + k * header.color_bytes;
    if (at + 3 > file.size()) break;
    for (size_t c = 0; c < 3; ++c) {
      palette[k][c] = static_cast<uint8_t>(file[at + 2 - c]);
    }
  }
  return palette;
}

// The pixels that are written: RGB or RGBA.
struct BmpPixels {
  const BmpHeader& header;
  size_t channels;
  std::span<uint8_t> pixels;

  // Returns where row `y` of the file is.
  uint8_t* Row(int64_t y) const {
    const int64_t row = header.top_down ? y : header.size.height - 1 - y;
    return &pixels[static_cast<size_t>(row * header.size.width) * channels];
  }
};

void DecodeIndexes(const uint8_t* row, uint32_t bits, const Palette& palette,
                   int64_t width, size_t channels, uint8_t* out) {
  const uint32_t mask = (1U << bits) - 1;
  for (int64_t x = 0; x < width; ++x) {
    const auto bit = static_cast<uint64_t>(x) * bits;
    const uint32_t shift = 8 - bits - static_cast<uint32_t>(bit % 8);
    const auto& color = palette[row[bit / 8] >> shift & mask];
    out = std::copy_n(color.begin(), channels, out);
  }
}

// Pixels of bytes blue, green, red and perhaps a fourth.
void DecodeBgr(const uint8_t* row, size_t pixel_bytes, int64_t width,
               size_t channels, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, row += pixel_bytes, out += channels) {
    out[0] = row[2];
    out[1] = row[1];
    out[2] = row[0];
    if (channels == 4) out[3] = 255;
  }
}

void DecodeMasked(const uint8_t* row, const BmpHeader& header, size_t channels,
                  uint8_t* out) {
  const size_t pixel_bytes = header.bits / 8;
  const auto sample = [](uint32_t pixel, uint32_t mask) {
    const int shift = mask == 0 ? 0 : std::countr_zero(mask);
    const uint64_t most = std::max(1U, mask >> shift);
    return static_cast<uint8_t>(((pixel & mask) >> shift) * uint64_t{255} /
                                most);
  };
  for (int64_t x = 0; x < header.size.width; ++x, row += pixel_bytes) {
    uint32_t pixel = 0;
    std::memcpy(&pixel, row, pixel_bytes);
    for (const uint32_t mask : header.masks) *out++ = sample(pixel, mask);
    if (channels < 4) continue;
    *out++ = header.alpha_mask == 0 ? 255 : sample(pixel, header.alpha_mask);
  }
}

absl::Status DecodeBmpRows(std::string_view file, const BmpPixels& target) {
  const BmpHeader& header = target.header;
  const auto width = static_cast<size_t>(header.size.width);
  const size_t row_bytes = (width * header.bits + 7) / 8;
  const size_t stride = (row_bytes + 3) / 4 * 4;
  // The last row may lack its padding.
  const size_t needed =
      static_cast<size_t>(header.size.height - 1) * stride + row_bytes;
  if (file.size() < header.pixels_at ||
      file.size() - header.pixels_at < needed) {
    return BmpIsTruncated();
  }
  const Palette palette = ReadBmpPalette(file, header);
  const auto* const stored =
      reinterpret_cast<const uint8_t*>(file.data()) + header.pixels_at;
  const bool alpha = target.channels == 4 && header.alpha_mask != 0;
  const bool bytes = header.bits >= 24 && header.masks == kMasks32 && !alpha;
  for (int64_t y = 0; y < header.size.height; ++y) {
    const uint8_t* const row = stored + static_cast<size_t>(y) * stride;
    uint8_t* const out = target.Row(y);
    if (header.bits <= 8) {
      DecodeIndexes(row, header.bits, palette, header.size.width,
                    target.channels, out);
    } else if (bytes) {
      DecodeBgr(row, header.bits / 8, header.size.width, target.channels, out);
    } else {
      DecodeMasked(row, header, target.channels, out);
    }
  }
  return absl::OkStatus();
}

// Writes the pixels of run-length coded rows. Pixels outside of the image are
// left out, as by other readers.
class RunWriter {
 public:
  RunWriter(const BmpPixels& target, const Palette& palette)
      : target_(target), palette_(palette) {
    // Pixels that are passed over have the first colour.
    for (size_t k = 0; k < target.pixels.size(); ++k) {
      target.pixels[k] = palette[0][k % target.channels];
    }
  }

  void Write(uint8_t index) {
    const ImageSize size = target_.header.size;
    if (x_ < size.width && y_ < size.height) {
      std::copy_n(palette_[index].begin(), target_.channels,
                  target_.Row(y_) + static_cast<size_t>(x_) * target_.channels);
    }
    ++x_;
  }
  void Move(int64_t right, int64_t rows) {
    x_ += right;
    y_ += rows;
  }
  void EndRow() {
    x_ = 0;
    ++y_;
  }
  bool full() const {
    const ImageSize size = target_.header.size;
    return y_ >= size.height || (y_ == size.height - 1 && x_ >= size.width);
  }

 private:
  const BmpPixels& target_;
  const Palette& palette_;
  int64_t x_ = 0;
  int64_t y_ = 0;
};

// Writes `count` pixels: two in each byte of `bytes`, or one, from the first
// byte again after the last.
void WriteRun(std::string_view bytes, size_t count, bool two_a_byte,
              RunWriter& out) {
  const size_t pixels = bytes.size() * (two_a_byte ? 2 : 1);
  for (size_t k = 0; k < count; ++k) {
    const size_t pixel = k % pixels;
    if (two_a_byte) {
      const auto byte = static_cast<uint8_t>(bytes[pixel / 2]);
      out.Write(pixel % 2 == 0 ? byte >> 4 : byte & 15);
    } else {
      out.Write(static_cast<uint8_t>(bytes[pixel]));
    }
  }
}

absl::Status DecodeBmpRuns(std::string_view file, const BmpPixels& target) {
  const bool rle4 = target.header.compression == kRle4;
  const Palette palette = ReadBmpPalette(file, target.header);
  RunWriter out(target, palette);
  size_t at = target.header.pixels_at;
  while (!out.full()) {
    if (file.size() < 2 || at > file.size() - 2) return BmpIsTruncated();
    const auto count = static_cast<uint8_t>(file[at]);
    const auto value = static_cast<uint8_t>(file[at + 1]);
    at += 2;
    if (count > 0) {
      WriteRun(file.substr(at - 1, 1), count, rle4, out);
    } else if (value == 0) {
      out.EndRow();
    } else if (value == 1) {
      break;  // the end of the image
    } else {
      const size_t bytes = value == 2 ? 2 : rle4 ? (value + 1) / 2 : value;
      if (file.size() - at < bytes) return BmpIsTruncated();
      const std::string_view data = file.substr(at, bytes);
      at += bytes + bytes % 2;
      if (value == 2) {
        out.Move(static_cast<uint8_t>(data[0]), static_cast<uint8_t>(data[1]));
      } else {
        WriteRun(data, value, rle4, out);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsBmp(std::string_view file) { return file.starts_with("BM"); }

absl::StatusOr<ImageSize> ReadBmpSize(std::string_view file) {
  FM_ASSIGN_OR_RETURN(const BmpHeader header, ReadBmpHeader(file));
  return header.size;
}

absl::Status DecodeBmp(std::string_view file, ImageSize /*size*/,
                       int64_t channels, std::span<uint8_t> pixels) {
  FM_ASSIGN_OR_RETURN(const BmpHeader header, ReadBmpHeader(file));
  const BmpPixels target{header, static_cast<size_t>(channels), pixels};
  const bool runs = header.compression == kRle8 || header.compression == kRle4;
  return runs ? DecodeBmpRuns(file, target) : DecodeBmpRows(file, target);
}

}  // namespace feedmill

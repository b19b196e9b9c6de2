#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/image_libraries.h"
#include "core/plugins/system_library.h"

namespace feedmill {
namespace {

// Numbers of tiff.h and tiffio.h, which are part of the format and of libtiff.
enum Tag : uint32_t {
  kWidth = 256,
  kHeight = 257,
  kBits = 258,
  kPhotometric = 262,
  kSamples = 277,
  kPlanar = 284,
  kTileWidth = 322,
  kTileHeight = 323,
  kExtraSamples = 338,
  kSampleFormat = 339,
};
constexpr uint16_t kWhiteIsZero = 0, kRgbTiff = 2;
constexpr uint16_t kContiguous = 1, kUnsigned = 1, kUndefined = 4;
constexpr uint16_t kOpaque = 0, kAssociated = 1;
constexpr int kFromBegin = 0, kFromHere = 1;
constexpr int kTopLeft = 1;
constexpr uint16_t kSamplesMax = 16;

using ReadOrWrite = int64_t (*)(void* client, void* bytes, int64_t size);
using Seek = uint64_t (*)(void* client, uint64_t offset, int whence);
using Close = int (*)(void* client);
using Size = uint64_t (*)(void* client);
using Map = int (*)(void* client, void** base, uint64_t* size);
using Unmap = void (*)(void* client, void* base, uint64_t size);
using Handler = void (*)(const char* module, const char* format, va_list);

struct LibTiff {
  void* (*open)(const char* name, const char* mode, void* client,
                ReadOrWrite read, ReadOrWrite write, Seek seek, Close close,
                Size size, Map map, Unmap unmap);
  void (*close)(void* tiff);
  int (*field_or_default)(void* tiff, uint32_t tag, ...);
  int (*is_tiled)(void* tiff);
  int64_t (*row_bytes)(void* tiff);
  int64_t (*tile_bytes)(void* tiff);
  int (*read_row)(void* tiff, void* row, uint32_t y, uint16_t sample);
  int64_t (*read_tile)(void* tiff, void* tile, uint32_t x, uint32_t y,
                       uint32_t z, uint16_t sample);
  int (*can_read_rgba)(void* tiff, char* message);
  int (*read_rgba)(void* tiff, uint32_t width, uint32_t height, uint32_t* to,
                   int orientation, int stop);
  Handler (*set_error_handler)(Handler);
  Handler (*set_warning_handler)(Handler);
};

const LibTiff& TiffLibrary() {
  static LibTiff t;
  static const std::string error = [] {
    const SystemLibrary found{"libtiff.so.6", "libtiff.so.5"};
    if (!found.loaded()) return found.error();
    const bool whole =
        found.Find("TIFFClientOpen", t.open) &&
        found.Find("TIFFClose", t.close) &&
        found.Find("TIFFGetFieldDefaulted", t.field_or_default) &&
        found.Find("TIFFIsTiled", t.is_tiled) &&
        found.Find("TIFFScanlineSize64", t.row_bytes) &&
        found.Find("TIFFTileSize64", t.tile_bytes) &&
        found.Find("TIFFReadScanline", t.read_row) &&
        found.Find("TIFFReadTile", t.read_tile) &&
        found.Find("TIFFRGBAImageOK", t.can_read_rgba) &&
        found.Find("TIFFReadRGBAImageOriented", t.read_rgba) &&
        found.Find("TIFFSetErrorHandler", t.set_error_handler) &&
        found.Find("TIFFSetWarningHandler", t.set_warning_handler);
    if (!whole) return std::string("functions are missing in it");
    // It would write to stderr.
    t.set_error_handler(nullptr);
    t.set_warning_handler(nullptr);
    return std::string();
  }();
  if (!error.empty()) ThrowNoLibrary("TIFF", "libtiff.so.6", "libtiff6", error);
  return t;
}

absl::Status DamagedTiff() {
  return DataLoss("TIFF: the file is corrupt or truncated");
}

// Reads a number of 2, 4 or 8 bytes; 0 beyond the end.
uint64_t NumberAt(std::string_view file, uint64_t at, size_t size) {
  if (at > file.size() || file.size() - at < size) return 0;
  const bool big = file[0] == 'M';
  uint64_t value = 0;
  for (size_t k = 0; k < size; ++k) {
    const size_t byte = at + (big ? k : size - 1 - k);
    value = value << 8 | static_cast<unsigned char>(file[byte]);
  }
  return value;
}

// Checks that the values that describe the pixels are in the file. libtiff
// ignores missing ones, such as a palette, and would make other pixels.
absl::Status CheckDirectory(std::string_view file) {
  constexpr uint64_t kText = 2, kLastTag = 532;
  constexpr uint64_t kTypeBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
                                     8, 4, 8, 4, 0, 0, 8, 8, 8};
  const bool wide = NumberAt(file, 2, 2) == 43;  // BigTIFF
  const size_t word = wide ? 8 : 4;
  const uint64_t entry_bytes = wide ? 20 : 12;
  const uint64_t directory = NumberAt(file, word, word);
  const uint64_t entries = NumberAt(file, directory, wide ? 8 : 2);
  uint64_t at = directory + (wide ? 8 : 2);
  for (uint64_t k = 0; k < entries; ++k, at += entry_bytes) {
    if (at > file.size() || file.size() - at < entry_bytes) break;
    const uint64_t type = NumberAt(file, at + 2, 2);
    const uint64_t count = NumberAt(file, at + 4, word);
    if (NumberAt(file, at, 2) > kLastTag || type == kText ||
        type >= std::size(kTypeBytes) || kTypeBytes[type] == 0 ||
        count <= word / kTypeBytes[type]) {
      continue;
    }
    const uint64_t begin = NumberAt(file, at + 4 + word, word);
    if (begin > file.size() ||
        count > (file.size() - begin) / kTypeBytes[type]) {
      return DataLoss("TIFF: the file is truncated");
    }
  }
  return absl::OkStatus();
}

// A file in memory, open in libtiff.
class TiffFile {
 public:
  static absl::StatusOr<std::unique_ptr<TiffFile>> Open(std::string_view file) {
    std::unique_ptr<TiffFile> opened(new TiffFile(file));
    const LibTiff& lib = opened->lib_;
    opened->tiff_ = lib.open("image", "rm", opened.get(), Read, Write, SeekTo,
                             CloseNothing, SizeOf, MapNothing, UnmapNothing);
    if (opened->tiff_ == nullptr) return DataLoss("TIFF: no image header");
    FM_RETURN_IF_ERROR(CheckDirectory(file));
    return opened;
  }
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;
  ~TiffFile() {
    if (tiff_ != nullptr) lib_.close(tiff_);
  }

  const LibTiff& lib() const { return lib_; }
  void* tiff() const { return tiff_; }
  template <class Value>
  Value Field(Tag tag) const {
    Value value{};
    return lib_.field_or_default(tiff_, tag, &value) == 1 ? value : Value{};
  }

 private:
  explicit TiffFile(std::string_view file) : lib_(TiffLibrary()), file_(file) {}

  static TiffFile& Of(void* client) { return *static_cast<TiffFile*>(client); }
  static int64_t Read(void* client, void* bytes, int64_t size) {
    TiffFile& self = Of(client);
    if (self.at_ >= self.file_.size() || size <= 0) return 0;
    const std::string_view part =
        self.file_.substr(self.at_, static_cast<size_t>(size));
    std::memcpy(bytes, part.data(), part.size());
    self.at_ += part.size();
    return static_cast<int64_t>(part.size());
  }
  static int64_t Write(void*, void*, int64_t) { return 0; }
  static uint64_t SeekTo(void* client, uint64_t offset, int whence) {
    TiffFile& self = Of(client);
    const uint64_t from = whence == kFromBegin  ? 0
                          : whence == kFromHere ? self.at_
                                                : self.file_.size();
    self.at_ = from + offset;
    return self.at_;
  }
  static int CloseNothing(void*) { return 0; }
  static uint64_t SizeOf(void* client) { return Of(client).file_.size(); }
  static int MapNothing(void*, void**, uint64_t*) { return 0; }
  static void UnmapNothing(void*, void*, uint64_t) {}

  const LibTiff& lib_;
  const std::string_view file_;
  uint64_t at_ = 0;
  void* tiff_ = nullptr;
};

// The layout of samples that are read as they are.
struct Layout {
  int64_t samples = 0;  // of a pixel
  int64_t colors = 0;   // 1 or 3
  int64_t alpha = -1;   // place of the sample; -1: none
  bool associated = false;
  bool inverted = false;
  int64_t sample_bytes = 1;
};

// Returns nullopt if libtiff has to convert the image.
std::optional<Layout> LayoutOf(const TiffFile& file) {
  const auto photometric = file.Field<uint16_t>(kPhotometric);
  const auto bits = file.Field<uint16_t>(kBits);
  Layout layout;
  layout.samples = file.Field<uint16_t>(kSamples);
  layout.colors = photometric == kRgbTiff ? 3 : 1;
  layout.inverted = photometric == kWhiteIsZero;
  layout.sample_bytes = bits / 8;
  if ((photometric > kRgbTiff) || (bits != 8 && bits != 16) ||
      file.Field<uint16_t>(kPlanar) != kContiguous ||
      layout.samples < layout.colors || layout.samples > kSamplesMax) {
    return std::nullopt;
  }
  uint16_t count = 0;
  const uint16_t* kinds = nullptr;
  file.lib().field_or_default(file.tiff(), kExtraSamples, &count, &kinds);
  const bool opaque = count > 0 && kinds[0] == kOpaque;
  if (layout.samples > layout.colors && !opaque) layout.alpha = layout.colors;
  layout.associated = count > 0 && kinds[0] == kAssociated;
  return layout;
}

template <class Sample>
Sample SampleAt(const std::byte* pixel, const Layout& layout, int64_t k) {
  Sample value;
  if (static_cast<int64_t>(sizeof(Sample)) == layout.sample_bytes) {
    std::memcpy(&value, pixel + static_cast<size_t>(k) * sizeof(Sample),
                sizeof(Sample));
    return value;
  }
  if constexpr (sizeof(Sample) == 1) {  // the high byte
    uint16_t wide;
    std::memcpy(&wide, pixel + k * 2, 2);
    return static_cast<Sample>(wide >> 8);
  } else {
    return static_cast<Sample>(static_cast<uint8_t>(pixel[k]) * 257U);
  }
}

// Converts a run of pixels to RGB or RGBA.
template <class Sample>
void ConvertPixels(const std::byte* from, int64_t count, const Layout& layout,
                   int64_t channels, Sample* to) {
  constexpr Sample kMax = std::numeric_limits<Sample>::max();
  const int64_t pixel_bytes = layout.samples * layout.sample_bytes;
  for (; count > 0; --count, from += pixel_bytes, to += channels) {
    const Sample alpha =
        layout.alpha < 0 ? kMax : SampleAt<Sample>(from, layout, layout.alpha);
    for (int64_t c = 0; c < 3; ++c) {
      uint32_t value =
          SampleAt<Sample>(from, layout, layout.colors == 3 ? c : 0);
      if (layout.inverted) value = kMax - value;
      if (layout.associated && alpha > 0) {
        value = std::min<uint32_t>(kMax, value * kMax / alpha);
      }
      to[c] = static_cast<Sample>(value);
    }
    if (channels == 4) to[3] = alpha;
  }
}

template <class Sample>
absl::Status DecodeRows(const TiffFile& file, const Layout& layout,
                        ImageSize size, int64_t channels, Sample* to) {
  const int64_t bytes = file.lib().row_bytes(file.tiff());
  if (bytes < size.width * layout.samples * layout.sample_bytes) {
    return DamagedTiff();
  }
  std::vector<std::byte> row(static_cast<size_t>(bytes));
  for (int64_t y = 0; y < size.height; ++y, to += size.width * channels) {
    if (file.lib().read_row(file.tiff(), row.data(), static_cast<uint32_t>(y),
                            0) != 1) {
      return DamagedTiff();
    }
    ConvertPixels(row.data(), size.width, layout, channels, to);
  }
  return absl::OkStatus();
}

template <class Sample>
absl::Status DecodeTiles(const TiffFile& file, const Layout& layout,
                         ImageSize size, int64_t channels, Sample* to) {
  const int64_t width = file.Field<uint32_t>(kTileWidth);
  const int64_t height = file.Field<uint32_t>(kTileHeight);
  // A tile that is much larger than the image is refused with its memory.
  constexpr int64_t kTilePixelsMin = int64_t{4} << 20;
  const int64_t pixels_max =
      std::max(kTilePixelsMin, 4 * size.height * size.width);
  const int64_t bytes = file.lib().tile_bytes(file.tiff());
  const int64_t pixel_bytes = layout.samples * layout.sample_bytes;
  if (width <= 0 || height <= 0 || width > pixels_max / height ||
      bytes != width * height * pixel_bytes) {
    return DamagedTiff();
  }
  std::vector<std::byte> tile(static_cast<size_t>(bytes));
  for (int64_t top = 0; top < size.height; top += height) {
    for (int64_t left = 0; left < size.width; left += width) {
      if (file.lib().read_tile(file.tiff(), tile.data(),
                               static_cast<uint32_t>(left),
                               static_cast<uint32_t>(top), 0, 0) < bytes) {
        return DamagedTiff();
      }
      const int64_t columns = std::min(width, size.width - left);
      for (int64_t y = 0; y < std::min(height, size.height - top); ++y) {
        ConvertPixels(tile.data() + y * width * pixel_bytes, columns, layout,
                      channels,
                      to + ((top + y) * size.width + left) * channels);
      }
    }
  }
  return absl::OkStatus();
}

// Decodes by libtiff's own conversion to 8 bits.
template <class Sample>
absl::Status DecodeConverted(const TiffFile& file, ImageSize size,
                             int64_t channels, Sample* to) {
  char reason[1024] = "";
  if (file.lib().can_read_rgba(file.tiff(), reason) != 1) {
    return DataLoss("TIFF: an image of a kind that is not decoded: {}", reason);
  }
  std::vector<uint32_t> rgba(static_cast<size_t>(size.height * size.width));
  if (file.lib().read_rgba(file.tiff(), static_cast<uint32_t>(size.width),
                           static_cast<uint32_t>(size.height), rgba.data(),
                           kTopLeft, /*stop=*/1) != 1) {
    return DamagedTiff();
  }
  Layout layout;
  layout.samples = 4;
  layout.colors = 3;
  layout.alpha = 3;
  layout.associated = true;
  // Red is in the low byte of the number.
  for (uint32_t& pixel : rgba) {
    const uint8_t bytes[] = {
        static_cast<uint8_t>(pixel), static_cast<uint8_t>(pixel >> 8),
        static_cast<uint8_t>(pixel >> 16), static_cast<uint8_t>(pixel >> 24)};
    std::memcpy(&pixel, bytes, sizeof pixel);
  }
  ConvertPixels(std::as_bytes(std::span(rgba)).data(), size.height * size.width,
                layout, channels, to);
  return absl::OkStatus();
}

template <class Sample>
absl::Status DecodeSamples(std::string_view bytes, ImageSize size,
                           int64_t channels, std::span<Sample> pixels) {
  FM_ASSIGN_OR_RETURN(const auto file, TiffFile::Open(bytes));
  const auto format = file->Field<uint16_t>(kSampleFormat);
  if (format != kUnsigned && format != kUndefined) {
    return DataLoss(
        "TIFF: an image of signed or floating samples, which are no colours");
  }
  const std::optional<Layout> layout = LayoutOf(*file);
  if (!layout) return DecodeConverted(*file, size, channels, pixels.data());
  return file->lib().is_tiled(file->tiff()) != 0
             ? DecodeTiles(*file, *layout, size, channels, pixels.data())
             : DecodeRows(*file, *layout, size, channels, pixels.data());
}

}  // namespace

absl::StatusOr<ImageSize> ReadTiffSize(std::string_view file) {
  FM_ASSIGN_OR_RETURN(const auto opened, TiffFile::Open(file));
  return ImageSize{opened->Field<uint32_t>(kHeight),
                   opened->Field<uint32_t>(kWidth)};
}

absl::Status DecodeTiff(std::string_view file, ImageSize size, int64_t channels,
                        std::span<uint8_t> pixels) {
  return DecodeSamples(file, size, channels, pixels);
}

absl::Status DecodeWideTiff(std::string_view file, ImageSize size,
                            int64_t channels, std::span<uint16_t> pixels) {
  return DecodeSamples(file, size, channels, pixels);
}

}  // namespace feedmill

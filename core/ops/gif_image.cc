#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/ops/image_formats.h"

// Source: GIF89a specification, CompuServe, 1990.

namespace feedmill {
namespace {

constexpr size_t kGifScreenBytes = 13;
constexpr size_t kGifImageBytes = 9;
constexpr char kGifExtension = '!';
constexpr char kGifImage = ',';
constexpr char kGifTrailer = ';';
constexpr uint8_t kGifGraphicControl = 0xF9;

absl::Status GifIsTruncated() { return DataLoss("GIF: the file is truncated"); }

uint8_t GifByte(std::string_view file, size_t at) {
  return static_cast<uint8_t>(file[at]);
}

struct ColorTable {
  size_t at = 0;
  size_t colors = 0;  // 0: there is none; indexes are grey values
};

// The first image of a file.
struct FirstImage {
  ImageSize screen;  // at least as large as the image
  int64_t left = 0;
  int64_t top = 0;
  ImageSize size;
  bool interlaced = false;
  ColorTable table;
  std::optional<uint8_t> transparent{};  // the index
  size_t data_at = 0;                    // where its compressed data begins
};

// Returns the table that `flags` describe, and moves `at` behind it.
ColorTable TableAt(uint8_t flags, size_t& at) {
  ColorTable table;
  if ((flags & 0x80) == 0) return table;
  table.at = at;
  table.colors = size_t{2} << (flags & 7);
  at += table.colors * 3;
  return table;
}

// Moves `at` behind the blocks of an extension or image.
absl::Status SkipBlocks(std::string_view file, size_t& at) {
  while (at < file.size()) {
    const uint8_t bytes = GifByte(file, at);
    at += size_t{1} + bytes;
    if (bytes == 0) return absl::OkStatus();
  }
  return GifIsTruncated();
}

// Reads the extension at `at`, behind its '!'.
absl::Status ReadExtension(std::string_view file, size_t& at,
                           FirstImage& image) {
  if (file.size() - at < 1) return GifIsTruncated();
  const bool control = GifByte(file, at) == kGifGraphicControl;
  ++at;
  // A block of four bytes: flags, two of a duration, the transparent colour.
  if (control && file.size() - at >= 5 && GifByte(file, at) >= 4 &&
      (GifByte(file, at + 1) & 1) != 0) {
    image.transparent = GifByte(file, at + 4);
  }
  return SkipBlocks(file, at);
}

// Reads the header of an image at `at`, behind its ','.
absl::Status ReadImageHeader(std::string_view file, size_t at,
                             FirstImage& image) {
  if (file.size() - at < kGifImageBytes) return GifIsTruncated();
  image.left = LoadLittleEndian<uint16_t>(file, at);
  image.top = LoadLittleEndian<uint16_t>(file, at + 2);
  image.size = {LoadLittleEndian<uint16_t>(file, at + 6),
                LoadLittleEndian<uint16_t>(file, at + 4)};
  const uint8_t flags = GifByte(file, at + 8);
  image.interlaced = (flags & 0x40) != 0;
  at += kGifImageBytes;
  if (const ColorTable table = TableAt(flags, at); table.colors > 0) {
    image.table = table;
  }
  image.data_at = at;
  image.screen.height =
      std::max(image.screen.height, image.top + image.size.height);
  image.screen.width =
      std::max(image.screen.width, image.left + image.size.width);
  return absl::OkStatus();
}

absl::StatusOr<FirstImage> FindFirstImage(std::string_view file) {
  if (file.size() < kGifScreenBytes) return GifIsTruncated();
  FirstImage image;
  image.screen = {LoadLittleEndian<uint16_t>(file, 8),
                  LoadLittleEndian<uint16_t>(file, 6)};
  size_t at = kGifScreenBytes;
  image.table = TableAt(GifByte(file, 10), at);
  while (at < file.size()) {
    const char kind = file[at++];
    if (kind == kGifExtension) {
      FM_RETURN_IF_ERROR(ReadExtension(file, at, image));
    } else if (kind == kGifImage) {
      FM_RETURN_IF_ERROR(ReadImageHeader(file, at, image));
      return image;
    } else if (kind == kGifTrailer) {
      return DataLoss("GIF: the file has no image");
    }
    // Other bytes between blocks are passed over, as by Pillow.
  }
  return GifIsTruncated();
}

// Reads the codes of an image: numbers of 3 to 12 bits, the lowest bit first,
// from blocks of up to 255 bytes.
class CodeReader {
 public:
  CodeReader(std::string_view file, size_t at) : file_(file), at_(at) {}

  // Returns the next code, or -1 at the end of the data.
  int Next(int bits) {
    while (have_ < bits) {
      if (left_ == 0 && !NextBlock()) return -1;
      value_ |= static_cast<uint32_t>(GifByte(file_, at_++)) << have_;
      have_ += 8;
      --left_;
    }
    const int code = static_cast<int>(value_ & ((1U << bits) - 1));
    value_ >>= bits;
    have_ -= bits;
    return code;
  }

 private:
  bool NextBlock() {
    if (at_ >= file_.size()) return false;
    left_ = std::min<size_t>(GifByte(file_, at_), file_.size() - at_ - 1);
    ++at_;
    return left_ > 0;
  }

  std::string_view file_;
  size_t at_;
  size_t left_ = 0;  // in this block
  uint32_t value_ = 0;
  int have_ = 0;  // bits of value_
};

// The strings of LZW codes. Each but the first ones is an earlier string and
// one more index.
class CodeTable {
 public:
  explicit CodeTable(int index_bits) : clear_(1 << index_bits) { Clear(); }

  int clear() const { return clear_; }
  int end() const { return clear_ + 1; }
  int code_bits() const { return code_bits_; }

  void Clear() {
    next_ = clear_ + 2;
    code_bits_ =
        static_cast<int>(std::bit_width(static_cast<unsigned>(clear_) + 1U));
    previous_ = -1;
  }

  // Appends the string of a code, the last index first. False if there is no
  // such code.
  bool Append(int code, std::vector<uint8_t>& reversed) {
    if (previous_ < 0) {
      if (code >= clear_) return false;
      first_ = static_cast<uint8_t>(code);
      reversed.push_back(first_);
    } else {
      if (code > next_ || (code == next_ && next_ == kCodes)) return false;
      AppendString(code, reversed);
      Add();
    }
    previous_ = code;
    return true;
  }

 private:
  static constexpr int kCodes = 4096;

  void AppendString(int code, std::vector<uint8_t>& reversed) {
    if (code == next_) {
      // The string that this code adds: the one before, and its first index.
      reversed.push_back(first_);
      code = previous_;
    }
    while (code >= clear_) {
      reversed.push_back(last_[static_cast<size_t>(code)]);
      code = before_[static_cast<size_t>(code)];
    }
    first_ = static_cast<uint8_t>(code);
    reversed.push_back(first_);
  }

  void Add() {
    if (next_ == kCodes) return;
    before_[static_cast<size_t>(next_)] = static_cast<int16_t>(previous_);
    last_[static_cast<size_t>(next_)] = first_;
    ++next_;
    if (next_ == 1 << code_bits_ && next_ < kCodes) ++code_bits_;
  }

  int clear_;
  int next_ = 0;  // the code that is added next
  int code_bits_ = 0;
  int previous_ = -1;
  uint8_t first_ = 0;  // the first index of the previous string
  std::array<int16_t, kCodes> before_{};
  std::array<uint8_t, kCodes> last_{};
};

// Returns the indexes of the image, row by row as they are stored.
absl::StatusOr<std::vector<uint8_t>> ReadIndexes(std::string_view file,
                                                 const FirstImage& image) {
  const auto count = static_cast<size_t>(image.size.height * image.size.width);
  if (image.data_at >= file.size()) return GifIsTruncated();
  const int index_bits = GifByte(file, image.data_at);
  if (index_bits < 1 || index_bits > 8) {
    return DataLoss("GIF: indexes of {} bits", index_bits);
  }
  CodeReader codes(file, image.data_at + 1);
  CodeTable table(index_bits);
  std::vector<uint8_t> indexes, reversed;
  while (indexes.size() < count) {
    const int code = codes.Next(table.code_bits());
    if (code == table.clear()) {
      table.Clear();
      continue;
    }
    if (code < 0 || code == table.end()) return GifIsTruncated();
    reversed.clear();
    if (!table.Append(code, reversed)) {
      return DataLoss("GIF: the compressed data is corrupt");
    }
    indexes.insert(indexes.end(), reversed.rbegin(), reversed.rend());
  }
  indexes.resize(count);
  return indexes;
}

// Returns the places of the stored rows in the image.
std::vector<int64_t> RowOrder(const FirstImage& image) {
  std::vector<int64_t> rows;
  if (image.interlaced) {
    constexpr int64_t kPasses[][2] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    for (const auto& [first, step] : kPasses) {
      for (int64_t y = first; y < image.size.height; y += step) {
        rows.push_back(y);
      }
    }
  } else {
    for (int64_t y = 0; y < image.size.height; ++y) rows.push_back(y);
  }
  return rows;
}

absl::StatusOr<Palette> ReadGifPalette(std::string_view file,
                                       const ColorTable& table) {
  Palette palette = BlackPalette();
  if (table.colors == 0) {
    for (size_t k = 0; k < 256; ++k) {
      std::fill_n(palette[k].begin(), 3, static_cast<uint8_t>(k));
    }
    return palette;
  }
  if (file.size() < table.at + table.colors * 3) return GifIsTruncated();
  for (size_t k = 0; k < table.colors; ++k) {
    for (size_t c = 0; c < 3; ++c) {
      palette[k][c] = GifByte(file, table.at + k * 3 + c);
    }
  }
  return palette;
}

}  // namespace

bool IsGif(std::string_view file) {
  return file.starts_with("GIF87a") || file.starts_with("GIF89a");
}

absl::StatusOr<ImageSize> ReadGifSize(std::string_view file) {
  FM_ASSIGN_OR_RETURN(const FirstImage image, FindFirstImage(file));
  return image.screen;
}

absl::Status DecodeGif(std::string_view file, ImageSize size, int64_t channels,
                       std::span<uint8_t> pixels) {
  FM_ASSIGN_OR_RETURN(const FirstImage image, FindFirstImage(file));
  FM_ASSIGN_OR_RETURN(Palette palette, ReadGifPalette(file, image.table));
  FM_ASSIGN_OR_RETURN(const std::vector<uint8_t> indexes,
                      ReadIndexes(file, image));
  auto& around = palette[image.transparent.value_or(0)];
  if (image.transparent) around[3] = 0;
  const auto count = static_cast<size_t>(channels);
  if (image.screen != image.size) {
    for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = around[k % count];
  }
  auto next = indexes.begin();
  for (const int64_t y : RowOrder(image)) {
    uint8_t* out = &pixels[static_cast<size_t>(
        ((image.top + y) * size.width + image.left) * channels)];
    for (int64_t x = 0; x < image.size.width; ++x) {
      out = std::copy_n(palette[*next++].begin(), count, out);
    }
  }
  return absl::OkStatus();
}

}  // namespace feedmill

#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstring>

#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/ops/image_formats.h"

namespace feedmill {
namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
constexpr size_t kErrorMax = 128;
// Most bytes to which ancillary chunks (text, profiles) may expand.
constexpr png_alloc_size_t kChunkBytesMax = 8 << 20;

// The state of libpng's callbacks: the remaining input, and the jump target for
// errors.
struct PngReader {
  const char* next = nullptr;
  size_t left = 0;
  std::jmp_buf escape;
  char error[kErrorMax] = "";
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader->error, message, kErrorMax - 1);
  std::longjmp(reader->escape, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep target, size_t size) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (size > reader->left) png_error(png, "the file is truncated");
  std::memcpy(target, reader->next, size);
  reader->next += size;
  reader->left -= size;
}

// Functions that call setjmp have only trivial types.
bool ReadPixels(PngReader* reader, png_structp png, png_infop info,
                const DecodeOptions& options, ImageSize size, uint8_t* pixels) {
  if (setjmp(reader->escape) != 0) return false;
  png_set_user_limits(png, kImageSideMax, kImageSideMax);
  png_set_chunk_malloc_max(png, kChunkBytesMax);
  png_set_read_fn(png, reader, ReadBytes);
  png_read_info(png, info);
  png_set_expand(png);
  if (options.sample_bytes == 2) {
    png_set_expand_16(png);
    if (std::endian::native == std::endian::little) png_set_swap(png);
  } else {
    png_set_strip_16(png);
  }
  if (options.channels == 4) {
    png_set_add_alpha(png, 0xFFFF, PNG_FILLER_AFTER);
  } else {
    png_set_strip_alpha(png);
  }
  const bool color =
      (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) != 0;
  if (options.channels >= 3) {
    png_set_gray_to_rgb(png);
  } else if (color) {
    png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, PNG_RGB_TO_GRAY_DEFAULT,
                        PNG_RGB_TO_GRAY_DEFAULT);
  }
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const auto row_bytes =
      static_cast<size_t>(size.width * options.channels * options.sample_bytes);
  if (png_get_image_height(png, info) !=
          static_cast<png_uint_32>(size.height) ||
      png_get_rowbytes(png, info) != row_bytes) {
    png_error(png, "the header changed while it was read");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < size.height; ++y) {
      png_read_row(png, pixels + static_cast<size_t>(y) * row_bytes, nullptr);
    }
  }
  return true;
}

// Reads the chunks after the pixels.
bool ReadEnd(PngReader* reader, png_structp png) {
  if (setjmp(reader->escape) != 0) return false;
  png_read_end(png, nullptr);
  return true;
}

uint32_t BigEndian32(const char* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

bool IsPng(std::string_view file) { return file.starts_with(kSignature); }

absl::StatusOr<ImageSize> ReadPngSize(std::string_view file) {
  constexpr size_t kHeaderBytes = 24;  // signature, length, "IHDR", two sizes
  if (file.size() < kHeaderBytes || file.substr(12, 4) != "IHDR") {
    return DataLoss("PNG: no image header");
  }
  return ImageSize{BigEndian32(file.data() + 20),
                   BigEndian32(file.data() + 16)};
}

absl::Status DecodePng(std::string_view file, const DecodeOptions& options,
                       ImageSize size, std::span<uint8_t> pixels) {
  PngReader reader;
  reader.next = file.data();
  reader.left = file.size();
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader,
                                           OnError, OnWarning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool has_pixels =
      info != nullptr &&
      ReadPixels(&reader, png, info, options, size, pixels.data());
  const bool sound = has_pixels && ReadEnd(&reader, png);
  png_destroy_read_struct(&png, &info, nullptr);
  if (sound) return absl::OkStatus();
  absl::Status error = DataLoss(
      "PNG: {}", reader.error[0] != '\0' ? reader.error : "libpng failed");
  if (!has_pixels || options.fail_on_warning) return error;
  NoteDataWarning(DataWarning::kImage, ErrorText(error));
  return absl::OkStatus();
}

}  // namespace feedmill

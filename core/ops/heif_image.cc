#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "core/base/status.h"
#include "core/ops/heif_sizes.h"
#include "core/ops/image_libraries.h"
#include "core/plugins/system_library.h"

namespace feedmill {
namespace {

// Numbers of heif.h, which are part of libheif.so.1.
constexpr int kRgbColors = 1, kInterleavedRgb = 10, kInterleavedRgba = 11;
constexpr int kInterleavedChannel = 10;

struct HeifStatus {
  int code;
  int detail;
  const char* message;
};

struct LibHeif {
  void* (*make)();
  void (*free)(void* context);
  HeifStatus (*read)(void* context, const void* file, size_t size,
                     const void* options);
  HeifStatus (*primary)(void* context, void** image);
  void (*release_handle)(const void* handle);
  int (*width)(const void* handle);
  int (*height)(const void* handle);
  HeifStatus (*decode)(const void* handle, void** image, int colorspace,
                       int chroma, const void* options);
  void (*release_image)(const void* image);
  int (*image_width)(const void* image, int channel);
  int (*image_height)(const void* image, int channel);
  const uint8_t* (*plane)(const void* image, int channel, int* stride);
};

const LibHeif& HeifLibrary() {
  static LibHeif h;
  static const std::string error = [] {
    const SystemLibrary found{"libheif.so.1"};
    if (!found.loaded()) return found.error();
    const bool whole =
        found.Find("heif_context_alloc", h.make) &&
        found.Find("heif_context_free", h.free) &&
        found.Find("heif_context_read_from_memory_without_copy", h.read) &&
        found.Find("heif_context_get_primary_image_handle", h.primary) &&
        found.Find("heif_image_handle_release", h.release_handle) &&
        found.Find("heif_image_handle_get_width", h.width) &&
        found.Find("heif_image_handle_get_height", h.height) &&
        found.Find("heif_decode_image", h.decode) &&
        found.Find("heif_image_release", h.release_image) &&
        found.Find("heif_image_get_width", h.image_width) &&
        found.Find("heif_image_get_height", h.image_height) &&
        found.Find("heif_image_get_plane_readonly", h.plane);
    return whole ? std::string() : std::string("functions are missing in it");
  }();
  if (!error.empty()) {
    ThrowNoLibrary("HEIF or AVIF", "libheif.so.1", "libheif1", error);
  }
  return h;
}

absl::Status CheckHeif(const HeifStatus& error) {
  if (error.code == 0) return absl::OkStatus();
  return DataLoss("HEIF: {}",
                  error.message == nullptr ? "damaged" : error.message);
}

using DecodedImage = std::unique_ptr<void, void (*)(const void*)>;

// The primary image of a file. The file outlives it.
class HeifImage {
 public:
  static absl::StatusOr<std::unique_ptr<HeifImage>> Open(
      std::string_view file) {
    std::unique_ptr<HeifImage> image(new HeifImage());
    const LibHeif& lib = image->lib_;
    if (image->context_ == nullptr) throw std::bad_alloc();
    FM_RETURN_IF_ERROR(CheckHeif(
        lib.read(image->context_, file.data(), file.size(), nullptr)));
    FM_RETURN_IF_ERROR(
        CheckHeif(lib.primary(image->context_, &image->handle_)));
    return image;
  }
  HeifImage(const HeifImage&) = delete;
  HeifImage& operator=(const HeifImage&) = delete;
  ~HeifImage() {
    if (handle_ != nullptr) lib_.release_handle(handle_);
    if (context_ != nullptr) lib_.free(context_);
  }

  ImageSize size() const { return {lib_.height(handle_), lib_.width(handle_)}; }

  absl::Status Decode(ImageSize size, int64_t channels, uint8_t* to) const {
    void* decoded = nullptr;
    FM_RETURN_IF_ERROR(CheckHeif(lib_.decode(
        handle_, &decoded, kRgbColors,
        channels == 4 ? kInterleavedRgba : kInterleavedRgb, nullptr)));
    const DecodedImage image(decoded, lib_.release_image);
    int stride = 0;
    const uint8_t* row = lib_.plane(image.get(), kInterleavedChannel, &stride);
    const ImageSize made{lib_.image_height(image.get(), kInterleavedChannel),
                         lib_.image_width(image.get(), kInterleavedChannel)};
    if (row == nullptr || made != size) {
      return DataLoss("HEIF: an image of another size than the file says");
    }
    const int64_t bytes = size.width * channels;
    for (int64_t y = 0; y < size.height; ++y, row += stride, to += bytes) {
      std::memcpy(to, row, static_cast<size_t>(bytes));
    }
    return absl::OkStatus();
  }

 private:
  HeifImage() : lib_(HeifLibrary()), context_(lib_.make()) {}

  const LibHeif& lib_;
  void* context_ = nullptr;
  void* handle_ = nullptr;
};

}  // namespace

bool IsHeif(std::string_view file) {
  if (file.size() < 12 || file.substr(4, 4) != "ftyp") return false;
  const std::string_view brand = file.substr(8, 4);  // videos have others
  return brand == "avif" || brand == "avis" || brand == "mif1" ||
         brand == "msf1" || brand.starts_with("hei") ||
         brand.starts_with("hev");
}

absl::StatusOr<ImageSize> ReadHeifSize(std::string_view file) {
  FM_ASSIGN_OR_RETURN(const auto image, HeifImage::Open(file));
  return image->size();
}

absl::Status DecodeHeif(std::string_view file, ImageSize size, int64_t channels,
                        std::span<uint8_t> pixels) {
  FM_RETURN_IF_ERROR(CheckHeifSizes(file));
  FM_ASSIGN_OR_RETURN(const auto image, HeifImage::Open(file));
  return image->Decode(size, channels, pixels.data());
}

}  // namespace feedmill

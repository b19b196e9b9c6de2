#include "core/ops/jpeg_image.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/ops/image_formats.h"
#include "core/ops/jpeg/libjpeg.h"
#include "core/ops/jpeg/quick_jpeg.h"

namespace feedmill {

bool IsJpeg(std::string_view file) { return file.starts_with("\xff\xd8\xff"); }

// Plain libjpeg.
class JpegDecoder::Any : public Libjpeg {
 public:
  absl::StatusOr<ImageSize> ReadSize(std::string_view file) {
    if (setjmp(failed_) != 0) return Error();  // NOLINT(cert-err52-cpp)
    if (info_.global_state == 0) Renew();      // create the decompressor first
    ReadHeader(file);
    jpeg_abort_decompress(&info_);
    return ImageSize{info_.image_height, info_.image_width};
  }

  absl::Status Decode(std::string_view file, const DecodeOptions& options,
                      ImageSize size, std::span<uint8_t> pixels) {
    if (setjmp(failed_) != 0) return Error();  // NOLINT(cert-err52-cpp)
    Renew();
    ReadHeader(file);
    if (!Scale(size)) return DataLoss("JPEG: the file is of another size");
    SetOutput(options);
    const bool inks = info_.jpeg_color_space == JCS_CMYK ||
                      info_.jpeg_color_space == JCS_YCCK;
    if (inks) info_.out_color_space = JCS_CMYK;
    jpeg_start_decompress(&info_);
    FM_CHECK(info_.output_height == size.height &&
             info_.output_width == size.width);
    SetRows(options, pixels);
    while (info_.output_scanline < info_.output_height) {
      if (inks) {
        ReadRowOfInks(options.channels, pixels);
      } else {
        ReadRows(info_.output_height);
      }
      // The remaining rows would only be invented.
      if (!options.pad_truncated && ended_early_ && data_missing_) break;
    }
    const bool incomplete = data_missing_ || !ScansAreWhole();
    if (info_.output_scanline == info_.output_height) {
      jpeg_finish_decompress(&info_);
    }
    jpeg_abort_decompress(&info_);
    return Judge(options, ended_early_ && incomplete);
  }

 private:
  // Resets the decompressor, because libjpeg uses the tables of the previous
  // file if a file has none.
  void Renew() {
    jpeg_destroy_decompress(&info_);
    jpeg_create_decompress(&info_);
    info_.progress = &limits_;
  }
  void ReadHeader(std::string_view file) {
    ForgetWarnings();
    SetSource(file);
    jpeg_read_header(&info_, TRUE);
  }

  // Reads one row of CMYK as Pillow and torchvision do: each file has inverted
  // values, as Adobe's files.
  void ReadRowOfInks(int64_t channels, std::span<uint8_t> pixels) {
    const size_t width = info_.output_width;
    inks_.resize(width * 4);
    const auto count = static_cast<size_t>(channels);
    uint8_t* out = &pixels[info_.output_scanline * width * count];
    JSAMPROW row = inks_.data();
    if (jpeg_read_scanlines(&info_, &row, 1) == 0) return;
    for (size_t x = 0; x < width; ++x, out += count) {
      const unsigned black = inks_[x * 4 + 3];
      uint8_t rgba[4] = {0, 0, 0, 255};
      for (size_t c = 0; c < 3; ++c) {
        const unsigned ink = (255U - inks_[x * 4 + c]) * black + 128;
        rgba[c] = static_cast<uint8_t>(black - ((ink + (ink >> 8)) >> 8));
      }
      if (channels == 1) rgba[0] = Luma(rgba);
      std::memcpy(out, rgba, count);
    }
  }

  // Returns false if a scan is missing that a coefficient needs, or if libjpeg
  // does not know. Does not check the data within the scans.
  bool ScansAreWhole() const {
    // libjpeg reports no missing data for arithmetic coding.
    if (info_.arith_code) return false;
    for (int c = 0; c < info_.num_components; ++c) {
      // Set by the first scan of the component.
      if (info_.comp_info[c].quant_table == nullptr) return false;
      if (!info_.progressive_mode || info_.coef_bits == nullptr) continue;
      for (const int bits : std::span(info_.coef_bits[c], DCTSIZE2)) {
        if (bits != 0) return false;
      }
    }
    return true;
  }

  absl::Status Error() {
    jpeg_abort_decompress(&info_);
    return DataLoss("JPEG: {}", text_.data());
  }

  // Checks whether the options accept the decoded image.
  absl::Status Judge(const DecodeOptions& options, bool truncated) {
    if (truncated && !options.pad_truncated) {
      return DataLoss(
          "JPEG: the file is truncated ({}); `truncated: pad` of decode_image "
          "decodes the available data",
          text_.data());
    }
    const bool only_truncated = truncated && other_warnings_ == 0;
    if (warned() && options.fail_on_warning && !only_truncated) return Error();
    if (warned()) {
      const bool no_marker =
          ended_early_ && !truncated && !data_missing_ && other_warnings_ == 0;
      const char* const what = no_marker ? "no end marker" : text_.data();
      NoteDataWarning(DataWarning::kImage, fmt::format("JPEG: {}", what));
    }
    return absl::OkStatus();
  }

  std::vector<uint8_t> inks_;  // a row
};

JpegDecoder::JpegDecoder()
    : any_(std::make_unique<Any>()), quick_(std::make_unique<QuickJpeg>()) {}
JpegDecoder::~JpegDecoder() = default;

absl::StatusOr<ImageSize> JpegDecoder::ReadSize(std::string_view file) {
  return any_->ReadSize(file);
}

absl::Status JpegDecoder::Decode(std::string_view file,
                                 const DecodeOptions& options, ImageSize size,
                                 std::span<uint8_t> pixels) {
  if (quick_->Decode(file, options, size, pixels)) return absl::OkStatus();
  return DecodeAny(file, options, size, pixels);
}

absl::Status JpegDecoder::DecodeAny(std::string_view file,
                                    const DecodeOptions& options,
                                    ImageSize size, std::span<uint8_t> pixels) {
  return any_->Decode(file, options, size, pixels);
}

}  // namespace feedmill

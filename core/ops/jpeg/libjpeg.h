#ifndef FEEDMILL_CORE_OPS_JPEG_LIBJPEG_H_
#define FEEDMILL_CORE_OPS_JPEG_LIBJPEG_H_

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

// These headers need declarations of <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

#include "core/ops/image.h"

namespace feedmill {

// A libjpeg decompressor. Errors jump to `failed_`. A function that calls
// libjpeg sets `failed_` first, and then has no local objects with destructors.
class Libjpeg {
 public:
  Libjpeg(const Libjpeg&) = delete;
  Libjpeg& operator=(const Libjpeg&) = delete;

 protected:
  Libjpeg() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr info) {
      info->err->format_message(info, Self(info).text_.data());
      std::longjmp(Self(info).failed_, 1);
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0) Self(info).OnWarning();
    };
    errors_.output_message = [](j_common_ptr) {};
    info_.client_data = this;
    limits_.progress_monitor = [](j_common_ptr info) {
      // A small file may have many scans, each of which takes as long as a
      // whole image.
      constexpr int kScansMax = 500;
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <=
          kScansMax) {
        return;
      }
      std::snprintf(Self(info).text_.data(), JMSG_LENGTH_MAX,
                    "more than %d scans", kScansMax);
      std::longjmp(Self(info).failed_, 1);
    };
  }
  ~Libjpeg() { jpeg_destroy_decompress(&info_); }

  static Libjpeg& Self(j_common_ptr info) {
    return *static_cast<Libjpeg*>(info->client_data);
  }
  void SetSource(std::string_view file) {
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()),
                 file.size());
  }
  void ForgetWarnings() {
    ended_early_ = data_missing_ = false;
    other_warnings_ = 0;
    text_[0] = '\0';
  }
  bool warned() const {
    return ended_early_ || data_missing_ || other_warnings_ > 0;
  }

  // Chooses the scale that yields this size; false if there is none.
  bool Scale(ImageSize size) {
    for (const unsigned scale : {1U, 2U, 4U, 8U}) {
      const auto of = [&](JDIMENSION side) {
        return int64_t{(side + scale - 1) / scale};
      };
      if (of(info_.image_height) != size.height ||
          of(info_.image_width) != size.width) {
        continue;
      }
      info_.scale_num = 1;
      info_.scale_denom = scale;
      return true;
    }
    return false;
  }
  void SetOutput(const DecodeOptions& options) {
    info_.out_color_space = options.channels == 1   ? JCS_GRAYSCALE
                            : options.channels == 3 ? JCS_EXT_RGB
                                                    : JCS_EXT_RGBA;
    info_.dct_method = options.fast_dct ? JDCT_FASTEST : JDCT_ISLOW;
  }
  // Sets the output rows to the memory of `pixels`.
  void SetRows(const DecodeOptions& options, std::span<uint8_t> pixels) {
    const size_t row_bytes =
        info_.output_width * static_cast<size_t>(options.channels);
    rows_.resize(info_.output_height);
    for (size_t y = 0; y < rows_.size(); ++y) {
      rows_[y] = pixels.data() + y * row_bytes;
    }
  }
  // Moves the output of each row by a number of bytes.
  void MoveRows(size_t bytes) {
    for (JSAMPROW& row : rows_) row += bytes;
  }
  // Reads rows, but not from `end` on.
  void ReadRows(JDIMENSION end) {
    jpeg_read_scanlines(&info_, &rows_[info_.output_scanline],
                        end - info_.output_scanline);
  }

  // The file ended before its end marker.
  bool ended_early_ = false;
  // A scan ended before all of its data.
  bool data_missing_ = false;
  uint64_t other_warnings_ = 0;
  // Text of the error, or of the first warning.
  std::array<char, JMSG_LENGTH_MAX> text_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr limits_{};
  jpeg_decompress_struct info_{};
  std::jmp_buf failed_{};

 private:
  void OnWarning() {
    if (!warned()) {
      errors_.format_message(reinterpret_cast<j_common_ptr>(&info_),
                             text_.data());
    }
    if (errors_.msg_code == JWRN_JPEG_EOF) {
      ended_early_ = true;
    } else if (errors_.msg_code == JWRN_HIT_MARKER) {
      data_missing_ = true;
    } else {
      ++other_warnings_;
    }
  }

  std::vector<JSAMPROW> rows_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_JPEG_LIBJPEG_H_

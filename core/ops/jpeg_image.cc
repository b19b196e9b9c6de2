#include "core/ops/jpeg_image.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

// These headers need declarations of <cstdio>.
#include <jerror.h>
#include <jpeglib.h>
// The internal interface between libjpeg's modules.
#include <jpegint.h>

#include "core/base/check.h"
#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/ops/jpeg_scan.h"

namespace feedmill {
namespace {

static_assert(sizeof(JCOEF) == sizeof(int16_t));
static_assert(NUM_HUFF_TBLS == JpegScan::kTables);

// For a scan of at least this many bytes, making tables pays off.
constexpr size_t kWorthTables = 32 << 10;

const unsigned char* Bytes(std::string_view file) {
  return reinterpret_cast<const unsigned char*>(file.data());
}

JpegCode CodeOf(const JHUFF_TBL& table) {
  JpegCode code;
  static_assert(sizeof(code.lengths) == sizeof(table.bits));
  static_assert(sizeof(code.symbols) == sizeof(table.huffval));
  std::memcpy(code.lengths.data(), table.bits, sizeof(table.bits));
  std::memcpy(code.symbols.data(), table.huffval, sizeof(table.huffval));
  code.lengths[0] = 0;
  return code;
}

}  // namespace

bool IsJpeg(std::string_view file) { return file.starts_with("\xff\xd8\xff"); }

// ---- libjpeg

// A libjpeg decompressor. Errors jump to `failed_`. A function that calls
// libjpeg sets `failed_` first, and then has no local objects with destructors.
class JpegDecoder::Libjpeg {
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
    info_.out_color_space = options.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_RGB;
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
  void ReadRows() {
    jpeg_read_scanlines(&info_, &rows_[info_.output_scanline],
                        info_.output_height - info_.output_scanline);
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

// ---- any file

// Plain libjpeg.
class JpegDecoder::Any : public Libjpeg {
 public:
  absl::StatusOr<ImageSize> ReadSize(std::string_view file) {
    if (setjmp(failed_) != 0) return Error();  // NOLINT(cert-err52-cpp)
    if (info_.global_state == 0) Renew();      // create the decompressor first
    ReadHeader(file);
    jpeg_abort_decompress(&info_);
    if (info_.jpeg_color_space == JCS_CMYK ||
        info_.jpeg_color_space == JCS_YCCK) {
      return DataLoss("JPEG: CMYK is not supported; convert the file to RGB");
    }
    return ImageSize{info_.image_height, info_.image_width};
  }

  absl::Status Decode(std::string_view file, const DecodeOptions& options,
                      ImageSize size, std::span<uint8_t> pixels) {
    if (setjmp(failed_) != 0) return Error();  // NOLINT(cert-err52-cpp)
    Renew();
    ReadHeader(file);
    if (!Scale(size)) return DataLoss("JPEG: the file is of another size");
    SetOutput(options);
    jpeg_start_decompress(&info_);
    FM_CHECK(info_.output_height == size.height &&
             info_.output_width == size.width);
    SetRows(options, pixels);
    while (info_.output_scanline < info_.output_height) {
      ReadRows();
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
    jpeg_mem_src(&info_, Bytes(file), file.size());
    jpeg_read_header(&info_, TRUE);
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
};

// ---- usual files

// libjpeg with our own entropy decoder (JpegScan). Rejects every file for which
// libjpeg would warn.
class JpegDecoder::Usual : public Libjpeg {
 public:
  Usual() { jpeg_create_decompress(&info_); }

  bool Decode(std::string_view file, const DecodeOptions& options,
              ImageSize size, std::span<uint8_t> pixels) {
    // libjpeg jumps here on an error. No object needs to be destroyed then.
    if (setjmp(failed_) != 0) {  // NOLINT(cert-err52-cpp)
      jpeg_abort_decompress(&info_);
      return false;
    }
    const bool done = Begin(file, options, size) && Finish(options, pixels);
    jpeg_abort_decompress(&info_);
    return done;
  }

 private:
  bool Begin(std::string_view file, const DecodeOptions& options,
             ImageSize size) {
    ForgetWarnings();
    ForgetTables();
    jpeg_mem_src(&info_, Bytes(file), file.size());
    jpeg_read_header(&info_, TRUE);
    const bool known =
        (info_.jpeg_color_space == JCS_YCbCr && info_.num_components == 3) ||
        (info_.jpeg_color_space == JCS_GRAYSCALE && info_.num_components == 1);
    if (!known || info_.progressive_mode || info_.arith_code ||
        info_.inputctl->has_multiple_scans || info_.restart_interval != 0 ||
        info_.Ss != 0 || info_.Se != DCTSIZE2 - 1 || info_.Ah != 0 ||
        info_.Al != 0 || !HasTables() || !Scale(size)) {
      return false;
    }
    SetOutput(options);
    jpeg_start_decompress(&info_);
    return info_.output_height == size.height &&
           info_.output_width == size.width && (!SetCodes() || TakeOver());
  }

  // Clears the tables, because libjpeg keeps them for files that have none.
  void ForgetTables() {
    for (int k = 0; k < NUM_HUFF_TBLS; ++k) {
      for (JHUFF_TBL* table :
           {info_.dc_huff_tbl_ptrs[k], info_.ac_huff_tbl_ptrs[k]}) {
        if (table != nullptr) *table = {};
      }
    }
    for (JQUANT_TBL* table : info_.quant_tbl_ptrs) {
      if (table != nullptr) *table = {};
    }
  }

  // True if the file has all tables. For files without tables, libjpeg knows
  // defaults.
  bool HasTables() const {
    for (int k = 0; k < info_.comps_in_scan; ++k) {
      const jpeg_component_info& component = *info_.cur_comp_info[k];
      const auto valid = [](int table) {
        return table >= 0 && table < NUM_HUFF_TBLS;
      };
      static_assert(NUM_QUANT_TBLS == NUM_HUFF_TBLS);
      if (!valid(component.dc_tbl_no) || !valid(component.ac_tbl_no) ||
          !valid(component.quant_tbl_no) ||
          !HasCodes(info_.dc_huff_tbl_ptrs[component.dc_tbl_no]) ||
          !HasCodes(info_.ac_huff_tbl_ptrs[component.ac_tbl_no]) ||
          !HasSteps(info_.quant_tbl_ptrs[component.quant_tbl_no])) {
        return false;
      }
    }
    return true;
  }
  static bool HasCodes(const JHUFF_TBL* table) {
    return table != nullptr &&
           std::any_of(std::begin(table->bits) + 1, std::end(table->bits),
                       [](UINT8 codes) { return codes != 0; });
  }
  static bool HasSteps(const JQUANT_TBL* table) {
    return table != nullptr && table->quantval[0] != 0;
  }

  // Returns true if JpegScan can decode the scan. libjpeg has checked the
  // tables and has read up to the scan.
  bool SetCodes() {
    const bool worth_it = info_.src->bytes_in_buffer >= kWorthTables;
    std::array<bool, JpegScan::kTables> dc_set{}, ac_set{};
    ours_ = true;
    for (int k = 0; k < info_.comps_in_scan; ++k) {
      const auto dc = static_cast<size_t>(info_.cur_comp_info[k]->dc_tbl_no);
      const auto ac = static_cast<size_t>(info_.cur_comp_info[k]->ac_tbl_no);
      if (!std::exchange(dc_set[dc], true) &&
          !scan_.SetDcCode(dc, CodeOf(*info_.dc_huff_tbl_ptrs[dc]), worth_it)) {
        ours_ = false;
      }
      if (!std::exchange(ac_set[ac], true) &&
          !scan_.SetAcCode(ac, CodeOf(*info_.ac_huff_tbl_ptrs[ac]), worth_it)) {
        ours_ = false;
      }
    }
    return ours_;
  }

  bool TakeOver() {
    std::array<JpegScan::Block, JpegScan::kBlocksMax> unit;
    static_assert(D_MAX_BLOCKS_IN_MCU == JpegScan::kBlocksMax);
    const auto blocks = static_cast<size_t>(info_.blocks_in_MCU);
    for (size_t k = 0; k < blocks; ++k) {
      const int of = info_.MCU_membership[k];
      const jpeg_component_info& component = *info_.cur_comp_info[of];
      unit[k] = {static_cast<uint8_t>(of),
                 static_cast<uint8_t>(component.dc_tbl_no),
                 static_cast<uint8_t>(component.ac_tbl_no)};
    }
    if (!scan_.Begin({info_.src->next_input_byte, info_.src->bytes_in_buffer},
                     std::span(unit).first(blocks))) {
      return false;
    }
    info_.entropy->decode_mcu = [](j_decompress_ptr info,
                                   JBLOCKROW* blocks_of) -> boolean {
      auto& self = Self(reinterpret_cast<j_common_ptr>(info));
      static_cast<Usual&>(self).scan_.DecodeUnit(blocks_of);
      return TRUE;
    };
    return true;
  }

  bool Finish(const DecodeOptions& options, std::span<uint8_t> pixels) {
    SetRows(options, pixels);
    while (info_.output_scanline < info_.output_height) {
      ReadRows();
      if (ours_ && !scan_.sound()) return false;
    }
    if (!ours_) jpeg_finish_decompress(&info_);
    return (!ours_ || scan_.complete()) && !warned();
  }

  JpegScan scan_;
  bool ours_ = false;  // JpegScan decodes this file, not libjpeg
};

JpegDecoder::JpegDecoder()
    : any_(std::make_unique<Any>()), usual_(std::make_unique<Usual>()) {}
JpegDecoder::~JpegDecoder() = default;

absl::StatusOr<ImageSize> JpegDecoder::ReadSize(std::string_view file) {
  return any_->ReadSize(file);
}

absl::Status JpegDecoder::Decode(std::string_view file,
                                 const DecodeOptions& options, ImageSize size,
                                 std::span<uint8_t> pixels) {
  if (DecodeUsual(file, options, size, pixels)) return absl::OkStatus();
  return DecodeAny(file, options, size, pixels);
}

bool JpegDecoder::DecodeUsual(std::string_view file,
                              const DecodeOptions& options, ImageSize size,
                              std::span<uint8_t> pixels) {
  return usual_->Decode(file, options, size, pixels);
}

absl::Status JpegDecoder::DecodeAny(std::string_view file,
                                    const DecodeOptions& options,
                                    ImageSize size, std::span<uint8_t> pixels) {
  return any_->Decode(file, options, size, pixels);
}

}  // namespace feedmill

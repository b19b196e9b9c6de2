#include "core/ops/jpeg/quick_jpeg.h"

#if FEEDMILL_QUICK_JPEG

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/ops/jpeg/jpeg_scan.h"
#include "core/ops/jpeg/libjpeg.h"
// The internal interface between libjpeg's modules. It needs <jpeglib.h>.
#include <jpegint.h>

namespace feedmill {
namespace {

static_assert(sizeof(JCOEF) == sizeof(int16_t));
static_assert(NUM_HUFF_TBLS == JpegScan::kTables);

// For a scan of at least this many bytes, making tables pays off.
constexpr size_t kWorthTables = 32 << 10;

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

bool QuickJpeg::IsBuilt() { return true; }

class QuickJpeg::Decompressor : public Libjpeg {
 public:
  Decompressor() { jpeg_create_decompress(&info_); }

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
    SetSource(file);
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
    if (info_.output_height != size.height ||
        info_.output_width != size.width) {
      return false;
    }
    // A box is read without what follows it. So whether a file is accepted must
    // not depend on who decodes it.
    const bool ours = SetCodes();
    if ((ours || options.needed) && !scan_.Load(Rest())) return false;
    if (ours) TakeOver();
    return true;
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

  std::span<const uint8_t> Rest() const {
    return {info_.src->next_input_byte, info_.src->bytes_in_buffer};
  }

  void TakeOver() {
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
    scan_.Begin(std::span(unit).first(blocks));
    info_.entropy->decode_mcu = [](j_decompress_ptr info,
                                   JBLOCKROW* blocks_of) -> boolean {
      auto& self = Self(reinterpret_cast<j_common_ptr>(info));
      JpegScan& scan = static_cast<Decompressor&>(self).scan_;
      // libjpeg skips rows of units by a null.
      blocks_of == nullptr ? scan.SkipUnit() : scan.DecodeUnit(blocks_of);
      return TRUE;
    };
  }

  bool Finish(const DecodeOptions& options, std::span<uint8_t> pixels) {
    SetRows(options, pixels);
    if (options.needed && info_.scale_denom == 1) {
      return ReadBox(*options.needed, options.channels);
    }
    while (info_.output_scanline < info_.output_height) {
      ReadRows(info_.output_height);
      if (ours_ && !scan_.sound()) return false;
    }
    if (!ours_) jpeg_finish_decompress(&info_);
    return (!ours_ || scan_.complete()) && !warned();
  }

  // Reads the rows and columns of the box only. Later data is not looked at.
  bool ReadBox(const ImageBox& box, int64_t channels) {
    // Chroma is interpolated between neighbours, but not over the edge.
    constexpr int64_t kMargin = 2;
    const int64_t image_width = info_.output_width;
    auto left =
        static_cast<JDIMENSION>(std::max<int64_t>(0, box.left - kMargin));
    const int64_t right =
        std::min(image_width, box.left + box.size.width + kMargin);
    auto width = static_cast<JDIMENSION>(right - left);
    jpeg_crop_scanline(&info_, &left, &width);
    MoveRows(left * static_cast<size_t>(channels));
    const auto bottom = static_cast<JDIMENSION>(box.top + box.size.height);
    jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(box.top));
    while (info_.output_scanline < bottom) {
      ReadRows(bottom);
      if (ours_ && !scan_.sound()) return false;
    }
    return !warned();
  }

  JpegScan scan_;
  bool ours_ = false;  // JpegScan decodes this file, not libjpeg
};

QuickJpeg::QuickJpeg() : decompressor_(std::make_unique<Decompressor>()) {}
QuickJpeg::~QuickJpeg() = default;

bool QuickJpeg::Decode(std::string_view file, const DecodeOptions& options,
                       ImageSize size, std::span<uint8_t> pixels) {
  return decompressor_->Decode(file, options, size, pixels);
}

}  // namespace feedmill

#else

namespace feedmill {

class QuickJpeg::Decompressor {};

bool QuickJpeg::IsBuilt() { return false; }
QuickJpeg::QuickJpeg() = default;
QuickJpeg::~QuickJpeg() = default;

bool QuickJpeg::Decode(std::string_view, const DecodeOptions&, ImageSize,
                       std::span<uint8_t>) {
  return false;
}

}  // namespace feedmill

#endif

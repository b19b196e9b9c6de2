#ifndef FEEDMILL_CORE_OPS_JPEG_SCAN_H_
#define FEEDMILL_CORE_OPS_JPEG_SCAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace feedmill {

// The Huffman code of one table of a JPEG file (ITU-T T.81, C.2), as its DHT
// segment gives it: how many codes have which length, and what they mean.
struct JpegCode {
  std::array<uint8_t, 17> lengths{};  // [n]: codes of n bits; [0] is unused
  std::array<uint8_t, 256> symbols{};
  friend bool operator==(const JpegCode&, const JpegCode&) = default;
};

// Decodes the one scan of a baseline JPEG file that lies in memory whole: its
// Huffman codes, which take half of what decoding costs. libjpeg-turbo looks
// up a code of at most 8 bits, and then takes the bits behind it; here a look
// at 11 bits finds up to two coefficients with their bits.
//
// It only decodes what is sound to the last bit. Where `sound` is false, what
// the blocks have is of no use, and libjpeg has to say what is wrong, if
// anything. Thread-compatible.
class JpegScan {
 public:
  static constexpr size_t kBlockSize = 64;
  static constexpr size_t kTables = 4;
  static constexpr size_t kBlocksMax = 10;  // of an MCU
  struct Block {                            // each less than kTables
    uint8_t component = 0;
    uint8_t dc = 0;
    uint8_t ac = 0;
  };

  JpegScan();
  ~JpegScan();
  JpegScan(const JpegScan&) = delete;
  JpegScan& operator=(const JpegScan&) = delete;

  // Whether there is a table for the code now. To make one costs as much as it
  // saves for 10 KB: one that is there is kept, and another made if it is
  // wanted the second time in a row, or is `worth_it`.
  // REQUIRES: no code has more codes than bits allow, index < kTables.
  bool SetDcCode(size_t index, const JpegCode& code, bool worth_it);
  bool SetAcCode(size_t index, const JpegCode& code, bool worth_it);
  // Begins behind the scan's header. `file` goes on to the end of the file,
  // `unit` are the blocks of an MCU. False: there is no plain end of the scan
  // (restart markers, another scan). REQUIRES: there are these tables.
  bool Begin(std::span<const uint8_t> file, std::span<const Block> unit);
  // Decodes the next MCU: its blocks, all zero before, in natural order.
  // REQUIRES: Begin gave true.
  void DecodeUnit(int16_t (*const blocks[])[kBlockSize]);
  // Whether nothing was wrong so far.
  bool sound() const { return sound_; }
  // Whether all that the scan has was decoded.
  bool complete() const;

 private:
  struct DcTable;
  struct AcTable;
  struct Bits;

  void DecodeUnitWithBmi2(int16_t (*const blocks[])[kBlockSize]);
  void DecodeUnitInline(int16_t (*const blocks[])[kBlockSize]);

  std::array<std::unique_ptr<DcTable>, kTables> dc_;
  std::array<std::unique_ptr<AcTable>, kTables> ac_;
  std::array<JpegCode, kTables> wanted_dc_{};
  std::array<JpegCode, kTables> wanted_ac_{};
  struct Step {
    const DcTable* dc = nullptr;
    const AcTable* ac = nullptr;
    size_t component = 0;
  };
  std::array<Step, kBlocksMax> unit_{};
  size_t blocks_ = 0;           // of unit_
  std::vector<uint8_t> bytes_;  // the scan's, without what is stuffed in
  size_t size_ = 0;             // of these, before what they are padded with
  std::unique_ptr<Bits> bits_;  // how far it is
  std::array<uint32_t, kTables> last_dc_{};
  bool sound_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_JPEG_SCAN_H_

#ifndef FEEDMILL_CORE_OPS_JPEG_JPEG_SCAN_H_
#define FEEDMILL_CORE_OPS_JPEG_JPEG_SCAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace feedmill {

// The Huffman code of one table of a JPEG file (ITU-T T.81, C.2), as its DHT
// segment has it: the number of codes of each length, and their symbols.
struct JpegCode {
  std::array<uint8_t, 17> lengths{};  // [n]: codes of n bits; [0] is unused
  std::array<uint8_t, 256> symbols{};
  friend bool operator==(const JpegCode&, const JpegCode&) = default;
};

// Decodes the Huffman codes of the one scan of a baseline JPEG file that is
// completely in memory. They take half of the time of decoding. libjpeg-turbo
// looks up a code of at most 8 bits, then reads the value bits. This class
// looks up 11 bits, which yields up to two coefficients with their values.
//
// The class decodes only scans without any error. If sound() is false, the
// blocks are useless, and libjpeg has to find out whether there is an error.
// Thread-compatible.
class JpegScan {
 public:
  static constexpr size_t kBlockSize = 64;
  static constexpr size_t kTables = 4;
  static constexpr size_t kBlocksMax = 10;  // blocks of an MCU
  struct Block {                            // each field is less than kTables
    uint8_t component = 0;
    uint8_t dc = 0;
    uint8_t ac = 0;
  };

  JpegScan();
  ~JpegScan();
  JpegScan(const JpegScan&) = delete;
  JpegScan& operator=(const JpegScan&) = delete;

  // Returns true if there is a table for the code now. Making a table costs as
  // much as it saves for 10 KB. So existing tables are kept, and a table is
  // made if its code is requested twice in a row or is `worth_it`.
  // REQUIRES: `code` has no more codes than its bits allow, index < kTables.
  bool SetDcCode(size_t index, const JpegCode& code, bool worth_it);
  bool SetAcCode(size_t index, const JpegCode& code, bool worth_it);
  // Reads the data of the scan from `file`, the rest of the file after the
  // scan's header. Returns false if the scan has no plain end (restart markers,
  // another scan, a truncated file).
  bool Load(std::span<const uint8_t> file);
  // Begins to decode. `unit`: the blocks of an MCU. REQUIRES: Load returned
  // true, and the tables of `unit` exist.
  void Begin(std::span<const Block> unit);
  // Decodes the next MCU into its blocks, in natural order. REQUIRES: Begin
  // was called; the blocks are zero.
  void DecodeUnit(int16_t (*const blocks[])[kBlockSize]);
  // Passes over the next MCU. REQUIRES: Begin was called.
  void SkipUnit();
  // True if no error was found so far.
  bool sound() const { return sound_; }
  // True if all data of the scan was decoded.
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
  size_t blocks_ = 0;           // in unit_
  std::vector<uint8_t> bytes_;  // data of the scan without stuffing, padded
  size_t size_ = 0;             // without the padding
  std::unique_ptr<Bits> bits_;  // position of the decoder
  std::array<uint32_t, kTables> last_dc_{};
  bool sound_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_JPEG_JPEG_SCAN_H_

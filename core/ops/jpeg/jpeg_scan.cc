#include "core/ops/jpeg/jpeg_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/check.h"
#include "core/base/vector_target.h"

namespace feedmill {
namespace {

constexpr uint32_t kLookupBits = 11;
constexpr size_t kLookupEntries = size_t{1} << kLookupBits;
constexpr uint32_t kCodeBitsMax = 16;
constexpr uint8_t kMarker = 0xff;
constexpr uint8_t kStuffed = 0x00;
constexpr uint8_t kEndOfImage = 0xd9;
constexpr uint32_t kSixteenZeros = 0xf0;
constexpr uint32_t kNoSymbol = 256;  // no code begins with these bits
constexpr uint32_t kUnsound = 255;   // an impossible index of a coefficient
// Zero bytes after the data. Decoding passes the end within one block at most,
// which takes fewer bytes than this.
constexpr size_t kPadding = 512;
// Below this index, a coefficient after up to 15 zeros is not the last of its
// block. (After the last coefficient, there is no end-of-block code.)
constexpr uint32_t kPairsUntil = JpegScan::kBlockSize - 16;

// Natural index of each coefficient, by order in the file. Damaged data may
// exceed a block by 16 at most.
constexpr std::array<uint8_t, JpegScan::kBlockSize + 32> kNaturalOrder = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// F.2.2.1: a value of `size` bits whose first bit is 0 is negative.
constexpr int32_t Extend(uint32_t bits, uint32_t size) {
  if (size == 0) return 0;
  const auto value = static_cast<int32_t>(bits);
  return (bits >> (size - 1)) != 0 ? value : value - (1 << size) + 1;
}

// The symbols of a code, found by the next kLookupBits bits.
struct Symbols {
  struct Symbol {
    uint8_t bits = 0;  // of the code; 0: longer than kLookupBits, or none
    uint8_t symbol = 0;
  };
  JpegCode code;
  std::array<Symbol, kLookupEntries> found{};
  // For longer codes: codes of n bits are below limit[n] (as 16 bits), and code
  // c is symbols[c + offset[n]].
  std::array<uint32_t, kCodeBitsMax + 1> limit{};
  std::array<uint32_t, kCodeBitsMax + 1> offset{};

  explicit Symbols(const JpegCode& given);
};

Symbols::Symbols(const JpegCode& given) : code(given) {
  uint32_t next = 0;
  uint32_t symbol = 0;
  for (uint32_t bits = 1; bits <= kCodeBitsMax; ++bits, next <<= 1) {
    offset[bits] = symbol - next;  // may wrap below 0, because it is added
    for (uint32_t k = 0; k < code.lengths[bits]; ++k, ++next, ++symbol) {
      FM_CHECK(symbol < code.symbols.size() && next < (1U << bits));
      if (bits > kLookupBits) continue;
      const size_t first = size_t{next} << (kLookupBits - bits);
      for (size_t i = 0; i < size_t{1} << (kLookupBits - bits); ++i) {
        found[first + i] = {static_cast<uint8_t>(bits), code.symbols[symbol]};
      }
    }
    limit[bits] = next << (kCodeBitsMax - bits);
  }
}

// The coefficient that the next kLookupBits bits encode.
struct Coefficient {
  uint8_t bits = 0;  // bits of code and value; 0: more are needed
  uint8_t zeros = 0;
  int16_t value = 0;
  bool end = false;
};

std::array<Coefficient, kLookupEntries> CoefficientsOf(const Symbols& symbols) {
  std::array<Coefficient, kLookupEntries> coefficients;
  // All looks that begin with one code and value are consecutive.
  for (size_t look = 0; look < kLookupEntries;) {
    const Symbols::Symbol found = symbols.found[look];
    const uint32_t size = found.symbol & 15U;
    const uint32_t bits = found.bits + size;
    if (found.bits == 0 || bits > kLookupBits ||
        found.symbol == kSixteenZeros) {
      ++look;
      continue;
    }
    const auto raw = static_cast<uint32_t>(look >> (kLookupBits - bits)) &
                     ((1U << size) - 1);
    const Coefficient one{static_cast<uint8_t>(bits),
                          static_cast<uint8_t>(found.symbol >> 4U),
                          static_cast<int16_t>(Extend(raw, size)), size == 0};
    for (size_t n = size_t{1} << (kLookupBits - bits); n > 0; --n) {
      coefficients[look++] = one;
    }
  }
  return coefficients;
}

uint64_t LoadBigEndian(const uint8_t* bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  if constexpr (std::endian::native == std::endian::little) {
    value = __builtin_bswap64(value);
  }
  return value;
}

}  // namespace

struct JpegScan::DcTable {
  explicit DcTable(const JpegCode& code);

  struct Entry {
    int16_t value = 0;
    uint8_t bits = 0;  // of code and value; 0: more are needed
  };
  Symbols symbols;
  std::array<Entry, kLookupEntries> entries{};
};

JpegScan::DcTable::DcTable(const JpegCode& code) : symbols(code) {
  for (uint32_t look = 0; look < kLookupEntries; ++look) {
    const Symbols::Symbol found = symbols.found[look];
    const uint32_t bits = found.bits + found.symbol;
    if (found.bits == 0 || bits > kLookupBits) continue;
    const uint32_t raw =
        (look >> (kLookupBits - bits)) & ((1U << found.symbol) - 1);
    entries[look] = {static_cast<int16_t>(Extend(raw, found.symbol)),
                     static_cast<uint8_t>(bits)};
  }
}

struct JpegScan::AcTable {
  explicit AcTable(const JpegCode& code);

  // One or two coefficients: their distances from the current index, and the
  // distance to the next index. An advance of 0 means that the look has no
  // complete coefficient. If there is only one, both halves hold it.
  struct Entry {
    uint8_t bits = 0;
    uint8_t first_at = 0;
    uint8_t second_at = 0;
    uint8_t advance = 0;
    int16_t first = 0;
    int16_t second = 0;
  };
  // Advance that means the end of the block.
  static constexpr uint8_t kEnd = 128;

  Symbols symbols;
  std::array<Entry, kLookupEntries> entries{};
};

JpegScan::AcTable::AcTable(const JpegCode& code) : symbols(code) {
  const std::array<Coefficient, kLookupEntries> coefficients =
      CoefficientsOf(symbols);
  for (size_t look = 0; look < kLookupEntries; ++look) {
    const Coefficient one = coefficients[look];
    if (one.bits == 0) continue;
    Entry& entry = entries[look];
    entry.bits = one.bits;
    if (one.end) {  // an end stores a zero over a zero
      entry.advance = kEnd;
      continue;
    }
    entry.first_at = entry.second_at = one.zeros;
    entry.first = entry.second = one.value;
    entry.advance = static_cast<uint8_t>(one.zeros + 1);
    const Coefficient two =
        coefficients[(look << one.bits) & (kLookupEntries - 1)];
    const uint32_t bits = uint32_t{one.bits} + two.bits;
    if (two.bits == 0 || bits > kLookupBits) continue;
    entry.bits = static_cast<uint8_t>(bits);
    if (two.end) {
      entry.advance = kEnd;
      continue;
    }
    entry.second_at = static_cast<uint8_t>(one.zeros + 1 + two.zeros);
    entry.second = two.value;
    entry.advance = static_cast<uint8_t>(entry.second_at + 1);
  }
}

// The input bits. All methods are inlined, so that the state stays in
// registers.
struct JpegScan::Bits {
  const uint8_t* next = nullptr;
  uint64_t window = 0;  // next bits, from the highest bit on
  uint32_t count = 0;   // valid bits, at least

  // Loads bits until at least 56 are valid.
  [[gnu::always_inline]] inline void Refill() {
    window |= LoadBigEndian(next) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  [[gnu::always_inline]] inline uint32_t Look() const {
    return static_cast<uint32_t>(window >> (64 - kLookupBits));
  }
  [[gnu::always_inline]] inline void Drop(uint32_t bits) {
    window <<= bits & 63;
    count -= bits;
  }
  [[gnu::always_inline]] inline int32_t TakeValue(uint32_t size) {
    const auto taken = static_cast<uint32_t>(window >> (63 - size) >> 1);
    Drop(size);
    return Extend(taken, size);
  }
  // Returns the next symbol or kNoSymbol.
  [[gnu::always_inline]] inline uint32_t TakeSymbol(const Symbols& symbols) {
    const Symbols::Symbol found = symbols.found[Look()];
    if (found.bits == 0) return TakeLongSymbol(symbols);
    Drop(found.bits);
    return found.symbol;
  }
  uint32_t TakeLongSymbol(const Symbols& symbols) {
    const auto look = static_cast<uint32_t>(window >> (64 - kCodeBitsMax));
    for (uint32_t bits = kLookupBits + 1; bits <= kCodeBitsMax; ++bits) {
      if (look >= symbols.limit[bits]) continue;
      const uint32_t code = look >> (kCodeBitsMax - bits);
      Drop(bits);
      return symbols.code.symbols[code + symbols.offset[bits]];
    }
    return kNoSymbol;
  }
  [[gnu::always_inline]] inline bool TakeDc(const DcTable& table,
                                            uint32_t& last);
  [[gnu::always_inline]] inline bool TakeAcs(const AcTable& table,
                                             int16_t* block);
  [[gnu::always_inline]] inline uint32_t TakeAc(const AcTable& table,
                                                uint32_t at, int16_t* block);
};

JpegScan::JpegScan() : bits_(std::make_unique<Bits>()) {}
JpegScan::~JpegScan() = default;

namespace {

template <class Table>
bool SetCode(std::unique_ptr<Table>& table, JpegCode& wanted,
             const JpegCode& code, bool worth_it) {
  if (table != nullptr && table->symbols.code == code) return true;
  if (!worth_it && wanted != code) {
    wanted = code;
    return false;
  }
  table = std::make_unique<Table>(code);
  return true;
}

}  // namespace

bool JpegScan::SetDcCode(size_t index, const JpegCode& code, bool worth_it) {
  return SetCode(dc_[index], wanted_dc_[index], code, worth_it);
}

bool JpegScan::SetAcCode(size_t index, const JpegCode& code, bool worth_it) {
  return SetCode(ac_[index], wanted_ac_[index], code, worth_it);
}

bool JpegScan::Load(std::span<const uint8_t> file) {
  sound_ = false;
  bytes_.resize(file.size() + kPadding);
  uint8_t* to = bytes_.data();
  const uint8_t* from = file.data();
  const uint8_t* const end = from + file.size();
  for (;;) {
    const auto* marker = static_cast<const uint8_t*>(
        std::memchr(from, kMarker, static_cast<size_t>(end - from)));
    if (marker == nullptr || end - marker < 2) return false;
    std::memcpy(to, from, static_cast<size_t>(marker - from));
    to += marker - from;
    if (marker[1] == kEndOfImage) break;
    if (marker[1] != kStuffed) return false;
    *to++ = kMarker;
    from = marker + 2;
  }
  size_ = static_cast<size_t>(to - bytes_.data());
  std::memset(to, 0, kPadding);
  return true;
}

void JpegScan::Begin(std::span<const Block> unit) {
  FM_CHECK(unit.size() <= unit_.size());
  std::transform(unit.begin(), unit.end(), unit_.begin(), [&](Block of) {
    return Step{dc_[of.dc].get(), ac_[of.ac].get(), of.component};
  });
  blocks_ = unit.size();
  *bits_ = {.next = bytes_.data()};
  last_dc_.fill(0);
  sound_ = true;
}

void JpegScan::SkipUnit() {
  int16_t skipped[kBlockSize];
  std::array<int16_t(*)[kBlockSize], kBlocksMax> blocks;
  blocks.fill(&skipped);
  DecodeUnit(blocks.data());
}

bool JpegScan::complete() const {
  const size_t used =
      static_cast<size_t>(bits_->next - bytes_.data()) * 8 - bits_->count;
  return sound_ && used <= size_ * 8 && size_ * 8 - used < 8;
}

[[gnu::always_inline]] inline bool JpegScan::Bits::TakeDc(const DcTable& table,
                                                          uint32_t& last) {
  Refill();
  const DcTable::Entry entry = table.entries[Look()];
  int32_t difference = entry.value;
  if (entry.bits != 0) {
    Drop(entry.bits);
  } else {
    const uint32_t size = TakeSymbol(table.symbols);
    if (size > 15) return false;
    difference = TakeValue(size);
  }
  last += static_cast<uint32_t>(difference);
  return true;
}

[[gnu::always_inline]] inline bool JpegScan::Bits::TakeAcs(const AcTable& table,
                                                           int16_t* block) {
  uint32_t at = 1;
  const auto store = [&](const AcTable::Entry& entry) {
    Drop(entry.bits);
    block[kNaturalOrder[at + entry.first_at]] = entry.first;
    block[kNaturalOrder[at + entry.second_at]] = entry.second;
    at += entry.advance;
  };
  while (at < kPairsUntil) {
    Refill();
    AcTable::Entry entry = table.entries[Look()];
    if (entry.advance != 0) [[likely]] {
      store(entry);
      if (at >= kPairsUntil) break;
      entry = table.entries[Look()];
    }
    if (entry.advance != 0) [[likely]] {
      store(entry);
    } else {
      at = TakeAc(table, at, block);
    }
  }
  while (at < kBlockSize) {
    Refill();
    at = TakeAc(table, at, block);
  }
  // A block that ends before its last coefficient has an end-of-block code.
  return at == kBlockSize || (at >= AcTable::kEnd && at != kUnsound);
}

// Decodes the next coefficient; returns the index after it.
[[gnu::always_inline]] inline uint32_t JpegScan::Bits::TakeAc(
    const AcTable& table, uint32_t at, int16_t* block) {
  const uint32_t symbol = TakeSymbol(table.symbols);
  if (symbol == kNoSymbol) return kUnsound;
  const uint32_t size = symbol & 15U;
  if (size == 0) return symbol == kSixteenZeros ? at + 16 : AcTable::kEnd;
  at += symbol >> 4U;
  block[kNaturalOrder[at]] = static_cast<int16_t>(TakeValue(size));
  return at + 1;
}

[[gnu::always_inline]] inline void JpegScan::DecodeUnitInline(
    int16_t (*const blocks[])[kBlockSize]) {
  if (!sound_) return;
  Bits bits = *bits_;
  const uint8_t* const end = bytes_.data() + size_ + sizeof(bits.window);
  bool sound = true;
  for (size_t k = 0; k < blocks_ && sound; ++k) {
    const Step& step = unit_[k];
    int16_t* const block = *blocks[k];
    uint32_t& last = last_dc_[step.component];
    sound = bits.next <= end && bits.TakeDc(*step.dc, last);
    block[0] = static_cast<int16_t>(last);
    sound = sound && bits.TakeAcs(*step.ac, block);
  }
  sound_ = sound;
  *bits_ = bits;
}

#if defined(__x86_64__)

// BMI2's shifts use any register and do not change the flags.
[[gnu::target("bmi2")]] void JpegScan::DecodeUnitWithBmi2(
    int16_t (*const blocks[])[kBlockSize]) {
  DecodeUnitInline(blocks);
}

void JpegScan::DecodeUnit(int16_t (*const blocks[])[kBlockSize]) {
  if (LoopTarget() >= VectorTarget::kAvx2) return DecodeUnitWithBmi2(blocks);
  DecodeUnitInline(blocks);
}

#else

void JpegScan::DecodeUnit(int16_t (*const blocks[])[kBlockSize]) {
  DecodeUnitInline(blocks);
}

#endif

}  // namespace feedmill

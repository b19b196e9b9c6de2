#include "core/ops/heif_coded_size.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace feedmill {
namespace {

// Bits behind the end are 0.
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

  // The next bits, of which the last 32 are returned.
  uint32_t Take(size_t count) {
    uint32_t value = 0;
    for (; count > 0; --count, ++at_) {
      const size_t byte = at_ / 8;
      const unsigned bits =
          byte < bytes_.size() ? static_cast<uint8_t>(bytes_[byte]) : 0;
      value = value << 1 | (bits >> (7 - at_ % 8) & 1);
    }
    return value;
  }
  bool Flag() { return Take(1) != 0; }
  // An Exp-Golomb code: as many zeros as bits follow the next one.
  uint32_t TakeGolomb() {
    size_t zeros = 0;
    while (zeros < 32 && !Flag()) ++zeros;
    return static_cast<uint32_t>((uint64_t{1} << zeros) - 1 + Take(zeros));
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;  // in bits
};

// ---- AV1

constexpr uint32_t kSelectByFrame = 2;  // SELECT_SCREEN_CONTENT_TOOLS

// The part of a sequence header that sizes of frames depend on.
struct Av1Sequence {
  ImageSize largest{};
  ImageSize by_bits{};   // the largest one that a frame can say
  bool one_key = false;  // reduced_still_picture_header
  bool has_frame_times = false;
  size_t frame_time_bits = 0;
  size_t frame_id_bits = 0;
  uint32_t screen_content = kSelectByFrame;
  uint32_t integer_vectors = kSelectByFrame;
};

// timing_info, decoder_model_info and the operating points.
void TakeOperatingPoints(BitReader& bits, Av1Sequence& sequence) {
  size_t delay_bits = 0;
  bool has_model = false;
  if (bits.Flag()) {  // timing_info_present_flag
    bits.Take(64);
    const bool equal_pictures = bits.Flag();
    if (equal_pictures) bits.TakeGolomb();
    has_model = bits.Flag();
    if (has_model) {
      delay_bits = bits.Take(5) + 1;
      bits.Take(32 + 5);
      sequence.frame_time_bits = bits.Take(5) + 1;
      sequence.has_frame_times = !equal_pictures;
    }
  }
  const bool has_display_delays = bits.Flag();
  const uint32_t points = bits.Take(5) + 1;
  for (uint32_t k = 0; k < points; ++k) {
    bits.Take(12);
    if (bits.Take(5) > 7) bits.Take(1);  // seq_tier of higher levels
    if (has_model && bits.Flag()) bits.Take(2 * delay_bits + 1);
    if (has_display_delays && bits.Flag()) bits.Take(4);
  }
}

// The tools behind the size, up to seq_force_integer_mv.
void TakeTools(BitReader& bits, Av1Sequence& sequence) {
  if (bits.Flag()) {  // frame_id_numbers_present_flag
    const uint32_t delta = bits.Take(4) + 2;
    sequence.frame_id_bits = bits.Take(3) + delta + 1;
  }
  bits.Take(3 + 4);
  if (bits.Flag()) bits.Take(2);  // enable_order_hint
  sequence.screen_content = bits.Flag() ? kSelectByFrame : bits.Take(1);
  if (sequence.screen_content > 0) {
    sequence.integer_vectors = bits.Flag() ? kSelectByFrame : bits.Take(1);
  }
}

Av1Sequence ReadAv1Sequence(std::string_view payload) {
  BitReader bits(payload);
  Av1Sequence sequence;
  bits.Take(3 + 1);
  sequence.one_key = bits.Flag();
  if (sequence.one_key) {
    bits.Take(5);
  } else {
    TakeOperatingPoints(bits, sequence);
  }
  const uint32_t width_bits = bits.Take(4) + 1;
  const uint32_t height_bits = bits.Take(4) + 1;
  sequence.by_bits = {int64_t{1} << height_bits, int64_t{1} << width_bits};
  sequence.largest.width = int64_t{bits.Take(width_bits)} + 1;
  sequence.largest.height = int64_t{bits.Take(height_bits)} + 1;
  if (!sequence.one_key) TakeTools(bits, sequence);
  return sequence;
}

// True if a frame's header says a size (frame_size_override_flag).
bool HasOwnSize(std::string_view payload, const Av1Sequence& sequence) {
  constexpr uint32_t kKey = 0, kSwitch = 3;
  if (sequence.one_key) return false;
  BitReader bits(payload);
  if (bits.Flag()) return false;  // show_existing_frame
  const uint32_t type = bits.Take(2);
  const bool shown = bits.Flag();
  if (shown && sequence.has_frame_times) bits.Take(sequence.frame_time_bits);
  if (!shown) bits.Take(1);
  if (type == kSwitch) return true;
  if (!(type == kKey && shown)) bits.Take(1);  // error_resilient_mode
  bits.Take(1);
  const uint32_t screen_content = sequence.screen_content == kSelectByFrame
                                      ? bits.Take(1)
                                      : sequence.screen_content;
  if (screen_content > 0 && sequence.integer_vectors == kSelectByFrame) {
    bits.Take(1);
  }
  bits.Take(sequence.frame_id_bits);
  return bits.Flag();
}

struct Av1Obu {
  uint32_t type = 0;
  std::string_view payload;
};

// Takes the next from the front of `obus`; none at their end.
std::optional<Av1Obu> TakeAv1Obu(std::string_view& obus) {
  if (obus.empty()) return std::nullopt;
  const auto head = static_cast<uint8_t>(obus[0]);
  const bool has_extension = (head & 4) != 0, has_size = (head & 2) != 0;
  obus.remove_prefix(std::min<size_t>(has_extension ? 2 : 1, obus.size()));
  uint64_t size = obus.size();
  if (has_size) {
    size = 0;
    bool more = true;
    for (unsigned shift = 0; more && shift < 56; shift += 7) {
      if (obus.empty()) return std::nullopt;
      const auto byte = static_cast<uint8_t>(obus[0]);
      obus.remove_prefix(1);
      size |= uint64_t{byte & 0x7fU} << shift;
      more = (byte & 0x80) != 0;
    }
  }
  const std::string_view payload = obus.substr(
      0, static_cast<size_t>(std::min<uint64_t>(size, obus.size())));
  obus.remove_prefix(payload.size());
  return Av1Obu{head >> 3U & 15U, payload};
}

// ---- HEVC

// Without the bytes 3 that keep two zeros from looking like a start.
std::string WithoutEmulation(std::string_view nal) {
  std::string bytes;
  int zeros = 0;
  for (const char byte : nal) {
    if (zeros >= 2 && byte == 3) {
      zeros = 0;
      continue;
    }
    zeros = byte == 0 ? zeros + 1 : 0;
    bytes += byte;
  }
  return bytes;
}

}  // namespace

ImageSize LargerOf(ImageSize a, ImageSize b) {
  return {std::max(a.height, b.height), std::max(a.width, b.width)};
}

ImageSize LargestAv1Size(std::string_view obus) {
  constexpr uint32_t kSequenceHeader = 1, kFrameHeader = 3, kFrame = 6;
  ImageSize largest{};
  std::optional<Av1Sequence> sequence;
  while (const std::optional<Av1Obu> obu = TakeAv1Obu(obus)) {
    if (obu->type == kSequenceHeader) {
      sequence = ReadAv1Sequence(obu->payload);
      largest = LargerOf(largest, sequence->largest);
    } else if ((obu->type == kFrameHeader || obu->type == kFrame) &&
               sequence.has_value() && HasOwnSize(obu->payload, *sequence)) {
      largest = LargerOf(largest, sequence->by_bits);
    }
  }
  return largest;
}

ImageSize HevcSetSize(std::string_view nal) {
  constexpr uint32_t kParameterSet = 33, kSeparatePlanes = 3;
  constexpr size_t kHead = 1024;  // the sides are at its begin
  const std::string bytes = WithoutEmulation(nal.substr(0, kHead));
  BitReader bits(bytes);
  bits.Take(1);
  const uint32_t type = bits.Take(6), layer = bits.Take(6);
  bits.Take(3);
  if (type != kParameterSet || layer != 0) return {};
  bits.Take(4);
  const uint32_t sublayers = bits.Take(3);  // besides the first
  bits.Take(1 + 88 + 8);
  size_t levels_bits = 0;
  for (uint32_t k = 0; k < sublayers; ++k) {
    if (bits.Flag()) levels_bits += 88;
    if (bits.Flag()) levels_bits += 8;
  }
  if (sublayers > 0) bits.Take(2 * size_t{8 - sublayers});
  bits.Take(levels_bits);
  bits.TakeGolomb();
  if (bits.TakeGolomb() == kSeparatePlanes) bits.Take(1);
  const int64_t width = bits.TakeGolomb();
  return {bits.TakeGolomb(), width};
}

ImageSize LargestHevcSize(std::string_view nals) {
  ImageSize largest{};
  while (nals.size() > 4) {
    const size_t length = BitReader(nals).Take(32);
    nals.remove_prefix(4);
    largest = LargerOf(largest, HevcSetSize(nals.substr(0, length)));
    nals.remove_prefix(std::min(length, nals.size()));
  }
  return largest;
}

}  // namespace feedmill

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/leb128.h"
#include "core/formats/riegeli_compression.h"

namespace feedmill {
namespace {

// The low bits of an element's first byte.
enum SnappyElement : uint8_t {
  kLiteral = 0,
  kCopyOffset11 = 1,
  kCopyOffset16 = 2,
  kCopyOffset32 = 3,
};
// Literals of more bytes have their length in one to four bytes.
constexpr size_t kShortLiteral = 60;

class SnappyBlock {
 public:
  SnappyBlock(std::string_view packed, std::span<char> out)
      : packed_(packed), out_(out) {}

  bool Decompress() {
    const auto size = TakeLeb128(packed_);
    if (!size || *size != out_.size()) return false;
    while (!packed_.empty()) {
      if (!TakeElement()) return false;
    }
    return at_ == out_.size();
  }

  // Decompresses the beginning of a block. Returns the bytes of its output.
  size_t DecompressBeginning() {
    is_beginning_ = true;
    if (!TakeLeb128(packed_)) return 0;
    while (!packed_.empty() && TakeElement()) {
    }
    return at_;
  }

 private:
  bool TakeElement() {
    const auto first = static_cast<uint8_t>(packed_.front());
    packed_.remove_prefix(1);
    const size_t length = (first >> 2) + size_t{1};
    switch (first & 3) {
      case kLiteral:
        return PutLiteral(length);
      case kCopyOffset11:
        return packed_.size() >= 1 &&
               PutCopy(4 + ((first >> 2) & 7),
                       TakeNumber(1) + ((size_t{first} >> 5) << 8));
      case kCopyOffset16:
        return packed_.size() >= 2 && PutCopy(length, TakeNumber(2));
      default:
        return packed_.size() >= 4 && PutCopy(length, TakeNumber(4));
    }
  }

  // Takes a little-endian number. REQUIRES: packed_ has as many bytes.
  size_t TakeNumber(size_t bytes) {
    uint32_t number = 0;
    std::memcpy(&number, packed_.data(), bytes);
    packed_.remove_prefix(bytes);
    return number;
  }

  bool PutLiteral(size_t length) {
    if (length > kShortLiteral) {
      const size_t bytes = length - kShortLiteral;
      if (packed_.size() < bytes) return false;
      length = TakeNumber(bytes) + 1;
    }
    if (is_beginning_) {
      length = std::min({length, packed_.size(), out_.size() - at_});
    }
    if (length > packed_.size() || length > out_.size() - at_) return false;
    std::memcpy(out_.data() + at_, packed_.data(), length);
    packed_.remove_prefix(length);
    at_ += length;
    return true;
  }

  // Repeats bytes from `offset` before. They may overlap with the copy.
  bool PutCopy(size_t length, size_t offset) {
    if (offset == 0 || offset > at_ || length > out_.size() - at_) return false;
    char* const to = out_.data() + at_;
    if (offset >= length) {
      std::memcpy(to, to - offset, length);
    } else {
      for (size_t k = 0; k < length; ++k) to[k] = (to - offset)[k];
    }
    at_ += length;
    return true;
  }

  std::string_view packed_;
  const std::span<char> out_;
  size_t at_ = 0;              // bytes of out_ that are written
  bool is_beginning_ = false;  // the last literal may be cut
};

}  // namespace

bool DecompressSnappy(std::string_view packed, std::span<char> out) {
  return SnappyBlock(packed, out).Decompress();
}

size_t DecompressSnappyBeginning(std::string_view packed, std::span<char> out) {
  return SnappyBlock(packed, out).DecompressBeginning();
}

}  // namespace feedmill

#include "core/io/utf16_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"

namespace feedmill {
namespace {

constexpr uint32_t kMark = 0xfeff;
constexpr uint32_t kSwappedMark = 0xfffe;

class Utf16Stream final : public ByteStream {
 public:
  explicit Utf16Stream(std::unique_ptr<ByteStream> text)
      : text_(std::move(text)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size()) {
      if (given_ == made_.size()) {
        if (!damage_.ok() || ended_) break;
        FM_RETURN_IF_ERROR(Make());
        continue;
      }
      const size_t count = std::min(out.size() - done, made_.size() - given_);
      std::memcpy(out.data() + done, made_.data() + given_, count);
      given_ += count;
      done += count;
    }
    if (done == 0 && !damage_.ok()) return damage_;
    return done;
  }

 private:
  // Converts the next bytes. Damage is reported after the text before it.
  absl::Status Make() {
    made_.clear();
    given_ = 0;
    const auto room = std::span(buffer_).subspan(left_);
    auto got = text_->Read(room);
    if (absl::IsDataLoss(got.status())) {
      damage_ = got.status();
      return absl::OkStatus();
    }
    FM_RETURN_IF_ERROR(got.status());
    ended_ = *got == 0;
    const size_t size = left_ + *got;
    size_t at = 0;
    while (damage_.ok() && size - at >= 2) {
      const size_t used = Take(std::span(buffer_).subspan(at, size - at));
      if (used == 0) break;
      at += used;
    }
    left_ = size - at;
    std::memmove(buffer_.data(), buffer_.data() + at, left_);
    offset_ += at;
    if (ended_ && left_ > 0 && damage_.ok()) {
      damage_ = DataLoss("the UTF-16 text ends inside a character at offset {}",
                         offset_);
    }
    return absl::OkStatus();
  }

  // Converts one character. Returns the bytes used, or 0 for half a surrogate
  // pair.
  size_t Take(std::span<const std::byte> bytes) {
    const uint32_t first = UnitAt(bytes, 0);
    const bool at_begin = !begun_;
    begun_ = true;
    if (at_begin && (first == kMark || first == kSwappedMark)) {
      big_endian_ = first == kSwappedMark;
      return 2;
    }
    if (first < 0xd800 || first > 0xdfff) {
      AppendUtf8(first, made_);
      return 2;
    }
    if (bytes.size() < 4 && first < 0xdc00 && !ended_) return 0;
    const uint32_t second = bytes.size() < 4 ? 0 : UnitAt(bytes, 2);
    if (first > 0xdbff || second < 0xdc00 || second > 0xdfff) {
      damage_ =
          DataLoss("half a surrogate pair of UTF-16 near offset {}", offset_);
      return 0;
    }
    AppendUtf8(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), made_);
    return 4;
  }

  uint32_t UnitAt(std::span<const std::byte> bytes, size_t at) const {
    const auto one = std::to_integer<uint32_t>(bytes[at]);
    const auto other = std::to_integer<uint32_t>(bytes[at + 1]);
    return big_endian_ ? one << 8 | other : other << 8 | one;
  }

  const std::unique_ptr<ByteStream> text_;
  std::array<std::byte, 64 << 10> buffer_;
  size_t left_ = 0;      // bytes of buffer_ that are not converted
  uint64_t offset_ = 0;  // offset of the first of them in the text
  std::string made_;     // UTF-8
  size_t given_ = 0;     // bytes of made_ already returned
  bool begun_ = false;
  bool big_endian_ = false;
  bool ended_ = false;
  absl::Status damage_;
};

}  // namespace

std::unique_ptr<ByteStream> MakeUtf16Stream(std::unique_ptr<ByteStream> text) {
  return std::make_unique<Utf16Stream>(std::move(text));
}

}  // namespace feedmill

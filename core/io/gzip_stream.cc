#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "core/base/data_warnings.h"
#include "core/io/decompressed.h"

namespace feedmill {
namespace {

// Sets the input and output of zlib. Returns how many bytes of `to` may be
// written.
size_t SetBuffers(std::span<std::byte> from, std::span<std::byte> to,
                  z_stream& state) {
  constexpr size_t kMax = std::numeric_limits<uInt>::max();
  const size_t room = std::min(to.size(), kMax);
  state.next_in = reinterpret_cast<Bytef*>(from.data());
  state.avail_in = static_cast<uInt>(from.size());
  state.next_out = reinterpret_cast<Bytef*>(to.data());
  state.avail_out = static_cast<uInt>(room);
  return room;
}

const char* ReasonOf(const z_stream& state) {
  return state.msg == nullptr ? "no reason" : state.msg;
}

class GzipStream final : public Decompressed {
 public:
  GzipStream(PlainStream input, std::string name)
      : Decompressed(std::move(input)), name_(std::move(name)) {
    constexpr int kGzipOnly = 16;
    const int result = inflateInit2(&state_, MAX_WBITS + kGzipOnly);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    FM_CHECK(result == Z_OK);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { inflateEnd(&state_); }

 private:
  size_t Step(std::span<std::byte> out) override {
    if (!inside_ && members_ > 0 && !BeginsMember()) return 0;
    const size_t room = SetBuffers(unread_, out, state_);
    inside_ = true;
    const int result = inflate(&state_, Z_NO_FLUSH);
    unread_ = unread_.last(state_.avail_in);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) {
      inside_ = false;
      ++members_;
      FM_CHECK(inflateReset(&state_) == Z_OK);
    } else if (result == Z_DATA_ERROR && members_ > 0 &&
               state_.total_in <= kMagicBytes) {
      IgnoreRest();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      damage_ = DataLoss("not gzip, or damaged: {}", ReasonOf(state_));
    }
    return room - state_.avail_out;
  }

  // Skips zeros after a member. False if no other member begins in unread_.
  bool BeginsMember() {
    constexpr std::byte kMagic{0x1f};
    const auto begin =
        std::find_if(unread_.begin(), unread_.end(),
                     [](std::byte b) { return b != std::byte{}; });
    unread_ = {begin, unread_.end()};
    if (!unread_.empty() && unread_.front() != kMagic) IgnoreRest();
    return !unread_.empty() && !ended_;
  }

  void IgnoreRest() {
    ended_ = true;
    inside_ = false;
    if (!name_.empty()) {
      NoteDataWarning(DataWarning::kTrailingBytes, name_);
    }
  }

  static constexpr size_t kMagicBytes = 2;
  const std::string name_;
  z_stream state_{};
  uint64_t members_ = 0;  // finished members
};

// Raw deflate, which marks its own end.
class InflateStream final : public Decompressed {
 public:
  InflateStream(PlainStream input, const DeflatedMember& member)
      : Decompressed(std::move(input)), member_(member) {
    const int result = inflateInit2(&state_, -MAX_WBITS);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    FM_CHECK(result == Z_OK);
    inside_ = true;
  }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() override { inflateEnd(&state_); }

 private:
  size_t Step(std::span<std::byte> out) override {
    const size_t room = SetBuffers(unread_, out, state_);
    const int result = inflate(&state_, Z_NO_FLUSH);
    unread_ = unread_.last(state_.avail_in);
    const size_t made = room - state_.avail_out;
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), made);
    made_ += made;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) {
      inside_ = false;
      ended_ = true;
      CheckMade();
    } else if (made_ > member_.size) {
      damage_ = DataLoss("damaged: more bytes than its directory says");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      damage_ = DataLoss("not deflated, or damaged: {}", ReasonOf(state_));
    }
    return made;
  }

  void CheckMade() {
    if (made_ == member_.size && crc_ == member_.crc) return;
    damage_ = DataLoss("damaged: its size or its checksum is wrong");
  }

  const DeflatedMember member_;
  z_stream state_{};
  uint64_t made_ = 0;
  uLong crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> MakeGzipStream(PlainStream input,
                                           std::string name) {
  return std::make_unique<GzipStream>(std::move(input), std::move(name));
}

std::unique_ptr<ByteStream> MakeInflateStream(ReadFileAt read,
                                              const DeflatedMember& member) {
  // zlib needs one more byte to return the last bytes of raw deflate. There is
  // one: a zip archive ends with its directory.
  return std::make_unique<InflateStream>(
      PlainStream(std::move(read), member.begin, member.end + 1), member);
}

}  // namespace feedmill

#include "core/io/byte_stream.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/data_warnings.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;

class PlainStream final : public ByteStream {
 public:
  PlainStream(ReadFileAt read, uint64_t begin, uint64_t size)
      : read_(std::move(read)), at_(begin), size_(size) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    const size_t count =
        static_cast<size_t>(std::min<uint64_t>(out.size(), size_ - at_));
    if (count == 0) return size_t{0};
    FM_RETURN_IF_ERROR(read_(at_, out.first(count)));
    at_ += count;
    return count;
  }

 private:
  const ReadFileAt read_;
  uint64_t at_;
  const uint64_t size_;
};

// What gzip and zstd share: compressed input a block at a time, and an error
// that is told after the bytes before it.
class Decompressed : public ByteStream {
 public:
  explicit Decompressed(PlainStream input)
      : input_(std::move(input)), buffer_(kInputBytes) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> out) final {
    size_t done = 0;
    while (done < out.size() && damage_.ok() && !ended_) {
      if (unread_.empty()) {
        FM_ASSIGN_OR_RETURN(const size_t got, input_.Read(buffer_));
        unread_ = std::span(buffer_).first(got);
        if (got == 0) {
          ended_ = true;
          if (inside_) damage_ = DataLoss("the compressed data is cut short");
          break;
        }
      }
      done += Step(out.subspan(done));
    }
    if (done == 0 && !damage_.ok()) return damage_;
    return done;
  }

 protected:
  // Makes some of `out` from unread_, and takes from that.
  virtual size_t Step(std::span<std::byte> out) = 0;

  std::span<std::byte> unread_;
  bool inside_ = false;  // a member or frame has begun and not ended
  bool ended_ = false;
  absl::Status damage_;

 private:
  PlainStream input_;
  std::vector<std::byte> buffer_;
};

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
    constexpr size_t kMax = std::numeric_limits<uInt>::max();
    const size_t room = std::min(out.size(), kMax);
    state_.next_in = reinterpret_cast<Bytef*>(unread_.data());
    state_.avail_in = static_cast<uInt>(unread_.size());
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(room);
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
      damage_ = DataLoss("not gzip, or damaged: {}",
                         state_.msg == nullptr ? "no reason" : state_.msg);
    }
    return room - state_.avail_out;
  }

  // Passes over zeros after a member. False: no other one begins in unread_.
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
  uint64_t members_ = 0;  // that have ended
};

class ZstdStream final : public Decompressed {
 public:
  explicit ZstdStream(PlainStream input)
      : Decompressed(std::move(input)), state_(ZSTD_createDStream()) {
    if (state_ == nullptr) throw std::bad_alloc();
  }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;
  ~ZstdStream() override { ZSTD_freeDStream(state_); }

 private:
  size_t Step(std::span<std::byte> out) override {
    ZSTD_inBuffer from{unread_.data(), unread_.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(state_, &to, &from);
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) {
      throw std::bad_alloc();
    }
    const size_t head = std::min(from.pos, head_.size() - head_bytes_);
    std::copy_n(unread_.begin(), head, head_.begin() + head_bytes_);
    head_bytes_ += head;
    made_ += to.pos;
    unread_ = unread_.subspan(from.pos);
    if (ZSTD_isError(result) != 0) {
      damage_ = Damage(result);
    }
    inside_ = result != 0;
    if (!inside_) EndFrame();
    return to.pos;
  }

  absl::Status Damage(size_t error) const {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(error);
    if (code == ZSTD_error_prefix_unknown && frames_ > 0) {
      return DataLoss(
          "bytes after the last zstd frame are no zstd frame; cut them off, as "
          "`zstd -d` does with an error");
    }
    if (code == ZSTD_error_frameParameter_windowTooLarge) {
      return DataLoss(
          "a zstd window of more than 128 MiB; compress it again with `zstd "
          "--long=27` or without --long");
    }
    return DataLoss("not zstd, or damaged: {}", ZSTD_getErrorName(error));
  }

  // Its size is checked here: the library does not if its last block is empty,
  // unless there happens to be room for all of it at once.
  void EndFrame() {
    const unsigned long long size =
        ZSTD_getFrameContentSize(head_.data(), head_bytes_);
    if (size != made_ && size != ZSTD_CONTENTSIZE_UNKNOWN &&
        size != ZSTD_CONTENTSIZE_ERROR) {
      damage_ = DataLoss("damaged: a zstd frame of {} bytes, where it says {}",
                         made_, size);
    }
    head_bytes_ = 0;
    made_ = 0;
    ++frames_;
  }

  ZSTD_DStream* const state_;
  // Of the frame that has begun: what its header is in, and what it has given.
  std::array<std::byte, 18> head_;
  size_t head_bytes_ = 0;
  uint64_t made_ = 0;
  uint64_t frames_ = 0;  // that have ended
};

}  // namespace

std::unique_ptr<ByteStream> MakeByteStream(Compression compression,
                                           ReadFileAt read, uint64_t begin,
                                           uint64_t size, std::string name) {
  PlainStream plain(std::move(read), begin, size);
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipStream>(std::move(plain), std::move(name));
    case Compression::kZstd:
      return std::make_unique<ZstdStream>(std::move(plain));
    case Compression::kByName:
    case Compression::kNone:
      break;
  }
  return std::make_unique<PlainStream>(std::move(plain));
}

}  // namespace feedmill

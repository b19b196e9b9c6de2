#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "core/io/decompressed.h"

namespace feedmill {
namespace {

constexpr int kUsualWindowLog = 27;

class ZstdStream final : public Decompressed {
 public:
  ZstdStream(PlainStream input, int window_log)
      : Decompressed(std::move(input)),
        window_log_(window_log),
        state_(ZSTD_createDStream()) {
    if (state_ == nullptr) throw std::bad_alloc();
    FM_CHECK(ZSTD_isError(ZSTD_DCtx_setParameter(state_, ZSTD_d_windowLogMax,
                                                 window_log_)) == 0);
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
          "a zstd window of more than 2^{} bytes; write `zstd_window_log: 31` "
          "(it takes up to 2 GiB of memory a file), or compress it again with "
          "`zstd --long=27`",
          window_log_);
    }
    return DataLoss("not zstd, or damaged: {}", ZSTD_getErrorName(error));
  }

  // Checks the size of the frame. The library does not check it if the last
  // block is empty, unless the output happens to have room for the whole frame.
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

  const int window_log_;
  ZSTD_DStream* const state_;
  // The header of the current frame (head_) and the bytes it has produced
  // (made_).
  std::array<std::byte, 18> head_;
  size_t head_bytes_ = 0;
  uint64_t made_ = 0;
  uint64_t frames_ = 0;  // finished frames
};

}  // namespace

std::unique_ptr<ByteStream> MakeZstdStream(PlainStream input,
                                           int64_t window_log) {
  return std::make_unique<ZstdStream>(
      std::move(input),
      window_log == 0 ? kUsualWindowLog : static_cast<int>(window_log));
}

}  // namespace feedmill

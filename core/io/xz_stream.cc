#include <lzma.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "core/io/decompressed.h"

namespace feedmill {
namespace {

// Memory limit of the decoder. `xz -9` needs 65 MiB.
constexpr uint64_t kMemoryMax = uint64_t{1} << 30;

class XzStream final : public Decompressed {
 public:
  explicit XzStream(PlainStream input) : Decompressed(std::move(input)) {}
  XzStream(const XzStream&) = delete;
  XzStream& operator=(const XzStream&) = delete;
  ~XzStream() override { lzma_end(&state_); }

 private:
  size_t Step(std::span<std::byte> out) override {
    if (!inside_ && !BeginStream()) return 0;
    state_.next_in = reinterpret_cast<const uint8_t*>(unread_.data());
    state_.avail_in = unread_.size();
    state_.next_out = reinterpret_cast<uint8_t*>(out.data());
    state_.avail_out = out.size();
    const lzma_ret result = lzma_code(&state_, LZMA_RUN);
    unread_ = unread_.last(state_.avail_in);
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (result == LZMA_STREAM_END) {
      inside_ = false;
      ++streams_;
    } else if (result != LZMA_OK && result != LZMA_BUF_ERROR) {
      damage_ = Damage(result);
    }
    return out.size() - state_.avail_out;
  }

  // Skips zeros after a stream. False if no other stream begins in unread_.
  bool BeginStream() {
    if (streams_ > 0) {
      const auto begin =
          std::find_if(unread_.begin(), unread_.end(),
                       [](std::byte b) { return b != std::byte{}; });
      padding_ += static_cast<uint64_t>(begin - unread_.begin());
      unread_ = {begin, unread_.end()};
      if (unread_.empty()) return false;
    }
    damage_ = CheckEnd();
    if (!damage_.ok()) return false;
    padding_ = 0;
    const lzma_ret result = lzma_stream_decoder(&state_, kMemoryMax, 0);
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    FM_CHECK(result == LZMA_OK);
    inside_ = true;
    return true;
  }

  absl::Status CheckEnd() const override {
    if (padding_ % 4 == 0) return absl::OkStatus();
    return DataLoss(
        "damaged: {} zeros after an xz stream, which are no multiple of 4",
        padding_);
  }

  absl::Status Damage(lzma_ret result) const {
    if (result == LZMA_MEMLIMIT_ERROR) {
      return DataLoss(
          "an xz dictionary that needs more than 1 GiB of memory; compress it "
          "again with `xz -9`");
    }
    if (result == LZMA_FORMAT_ERROR && streams_ > 0) {
      return DataLoss(
          "bytes after the last xz stream are no xz stream; cut them off, as "
          "`xz -d` does with an error");
    }
    if (result == LZMA_FORMAT_ERROR) {
      return DataLoss("not xz: it begins otherwise");
    }
    if (result == LZMA_OPTIONS_ERROR) {
      return DataLoss("an xz stream with a filter that liblzma does not have");
    }
    return DataLoss("damaged: a checksum or a code of xz is wrong");
  }

  lzma_stream state_ = LZMA_STREAM_INIT;
  uint64_t streams_ = 0;  // finished streams
  uint64_t padding_ = 0;  // zeros after the last stream
};

}  // namespace

std::unique_ptr<ByteStream> MakeXzStream(PlainStream input) {
  return std::make_unique<XzStream>(std::move(input));
}

}  // namespace feedmill

#include <bzlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "core/base/data_warnings.h"
#include "core/io/decompressed.h"

namespace feedmill {
namespace {

class Bz2Stream final : public Decompressed {
 public:
  Bz2Stream(PlainStream input, std::string name)
      : Decompressed(std::move(input)), name_(std::move(name)) {}
  Bz2Stream(const Bz2Stream&) = delete;
  Bz2Stream& operator=(const Bz2Stream&) = delete;
  ~Bz2Stream() override { End(); }

 private:
  size_t Step(std::span<std::byte> out) override {
    if (!inside_) Begin();
    constexpr size_t kMax = std::numeric_limits<unsigned>::max();
    const size_t room = std::min(out.size(), kMax);
    state_.next_in = reinterpret_cast<char*>(unread_.data());
    state_.avail_in = static_cast<unsigned>(unread_.size());
    state_.next_out = reinterpret_cast<char*>(out.data());
    state_.avail_out = static_cast<unsigned>(room);
    const int result = BZ2_bzDecompress(&state_);
    unread_ = unread_.last(state_.avail_in);
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result == BZ_STREAM_END) {
      End();
      ++streams_;
    } else if (result == BZ_DATA_ERROR_MAGIC && streams_ > 0) {
      IgnoreRest();
    } else if (result == BZ_DATA_ERROR_MAGIC) {
      damage_ = DataLoss("not bz2: it begins otherwise");
    } else if (result != BZ_OK) {
      damage_ = DataLoss("damaged: a checksum or a code of bz2 is wrong");
    }
    return room - state_.avail_out;
  }

  void Begin() {
    state_ = {};
    const int result = BZ2_bzDecompressInit(&state_, 0, 0);
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    FM_CHECK(result == BZ_OK);
    inside_ = true;
  }
  void End() {
    if (inside_) BZ2_bzDecompressEnd(&state_);
    inside_ = false;
  }
  void IgnoreRest() {
    End();
    ended_ = true;
    if (!name_.empty()) {
      NoteDataWarning(DataWarning::kTrailingBytes, name_);
    }
  }

  const std::string name_;
  bz_stream state_{};     // set up while inside_
  uint64_t streams_ = 0;  // finished streams
};

}  // namespace

std::unique_ptr<ByteStream> MakeBz2Stream(PlainStream input, std::string name) {
  return std::make_unique<Bz2Stream>(std::move(input), std::move(name));
}

}  // namespace feedmill

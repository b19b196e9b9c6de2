#ifndef FEEDMILL_CORE_IO_DECOMPRESSED_H_
#define FEEDMILL_CORE_IO_DECOMPRESSED_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/io/byte_stream.h"

namespace feedmill {

// Reads the bytes of a file without decoding.
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

// Base of all decompressing streams. Reads compressed input a block at a time,
// and reports damage after the bytes before it.
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
          damage_ = inside_ ? DataLoss("the compressed data is cut short")
                            : CheckEnd();
          break;
        }
      }
      done += Step(out.subspan(done));
    }
    if (done == 0 && !damage_.ok()) return damage_;
    return done;
  }

 protected:
  // Decompresses from unread_ into `out`, and removes the used input from
  // unread_. Returns the number of bytes written to `out`.
  virtual size_t Step(std::span<std::byte> out) = 0;

  // Checks the end of the input after the last member, frame or stream.
  virtual absl::Status CheckEnd() const { return absl::OkStatus(); }

  std::span<std::byte> unread_;
  bool inside_ = false;  // a member or frame has begun and not ended
  bool ended_ = false;
  absl::Status damage_;

 private:
  static constexpr size_t kInputBytes = size_t{256} << 10;

  PlainStream input_;
  std::vector<std::byte> buffer_;
};

// Decompressing streams. `name`: see MakeByteStream.
std::unique_ptr<ByteStream> MakeGzipStream(PlainStream input, std::string name);
std::unique_ptr<ByteStream> MakeZstdStream(PlainStream input,
                                           int64_t window_log);
std::unique_ptr<ByteStream> MakeBz2Stream(PlainStream input, std::string name);
std::unique_ptr<ByteStream> MakeXzStream(PlainStream input);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_DECOMPRESSED_H_

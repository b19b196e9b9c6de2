#include "core/formats/riegeli_compression.h"

#include <brotli/decode.h>
#include <zstd.h>

#include <cstring>
#include <new>

#include "core/base/check.h"
#include "core/base/leb128.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

using BrotliState = std::unique_ptr<BrotliDecoderState,
                                    decltype(&BrotliDecoderDestroyInstance)>;

absl::Status DecompressBrotli(std::string_view packed, std::span<char> out) {
  const BrotliState state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr),
      BrotliDecoderDestroyInstance);
  if (state == nullptr) throw std::bad_alloc();
  // Windows of more than 16 MiB, which the writer's option window_log may set.
  FM_CHECK(BrotliDecoderSetParameter(
               state.get(), BROTLI_DECODER_PARAM_LARGE_WINDOW, 1) != 0);
  size_t left = packed.size();
  const auto* in = reinterpret_cast<const uint8_t*>(packed.data());
  size_t room = out.size();
  auto* to = reinterpret_cast<uint8_t*>(out.data());
  const BrotliDecoderResult result = BrotliDecoderDecompressStream(
      state.get(), &left, &in, &room, &to, nullptr);
  if (result == BROTLI_DECODER_RESULT_SUCCESS && left == 0 && room == 0) {
    return absl::OkStatus();
  }
  return DataLoss("its brotli data is damaged");
}

}  // namespace

absl::StatusOr<RiegeliBuffer> ParseRiegeliBuffer(RiegeliCompression compression,
                                                 std::string_view bytes) {
  if (compression == RiegeliCompression::kNone) {
    return RiegeliBuffer{bytes.size(), bytes};
  }
  const auto size = TakeLeb128(bytes);
  if (!size) return DataLoss("a size of its compressed data is damaged");
  return RiegeliBuffer{*size, bytes};
}

struct RiegeliDecompressor::Zstd {
  Zstd() : state(ZSTD_createDCtx()) {
    if (state == nullptr) throw std::bad_alloc();
  }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() { ZSTD_freeDCtx(state); }

  ZSTD_DCtx* const state;
};

RiegeliDecompressor::RiegeliDecompressor() : zstd_(std::make_unique<Zstd>()) {}
RiegeliDecompressor::~RiegeliDecompressor() = default;

absl::Status RiegeliDecompressor::Decompress(RiegeliCompression compression,
                                             const RiegeliBuffer& buffer,
                                             std::span<char> out) {
  const std::string_view packed = buffer.packed;
  switch (compression) {
    case RiegeliCompression::kNone:
      FM_CHECK(packed.size() == out.size());
      if (!out.empty()) std::memcpy(out.data(), packed.data(), out.size());
      return absl::OkStatus();
    case RiegeliCompression::kZstd: {
      const size_t size = ZSTD_decompressDCtx(
          zstd_->state, out.data(), out.size(), packed.data(), packed.size());
      if (ZSTD_isError(size) != 0) {
        return DataLoss("its zstd data is damaged: {}",
                        ZSTD_getErrorName(size));
      }
      if (size == out.size()) return absl::OkStatus();
      return DataLoss("its zstd data has {} bytes, where {} are stated", size,
                      out.size());
    }
    case RiegeliCompression::kBrotli:
      return DecompressBrotli(packed, out);
    case RiegeliCompression::kSnappy:
      if (DecompressSnappy(packed, out)) return absl::OkStatus();
      return DataLoss("its snappy data is damaged");
  }
  return DataLoss("it has the compression {}, which does not exist",
                  static_cast<int>(compression));
}

}  // namespace feedmill

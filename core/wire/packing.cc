#include "core/wire/packing.h"

#include <lz4.h>
#include <zstd.h>

#include <new>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/wire/frame_codec.h"

namespace feedmill {
namespace {

// Smaller parts are not worth an entry in the header.
constexpr size_t kPackFrom = 1024;
constexpr int kZstdLevel = 1;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Compresses into `room` bytes at `to`. Returns 0 if they do not suffice.
size_t Compress(LinkCompression codec, const Buffer& from, std::byte* to,
                size_t room) {
  if (codec == LinkCompression::kLz4) {
    return static_cast<size_t>(LZ4_compress_default(
        reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to),
        static_cast<int>(from.size()), static_cast<int>(room)));
  }
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(
      ZSTD_createCCtx());
  if (context == nullptr) return 0;  // 0: the part is sent unpacked
  const size_t size = ZSTD_compressCCtx(context.get(), to, room, from.data(),
                                        from.size(), kZstdLevel);
  return ZSTD_isError(size) != 0 ? 0 : size;
}

// Returns a copy of exact size: the buffer had room for the unpacked part.
std::optional<PackedPart> Pack(uint32_t index, const Buffer& part,
                               LinkCompression codec) {
  BufferBuilder room(part.size() - part.size() / 8);
  const size_t size =
      Compress(codec, part, room.data(), part.size() - part.size() / 8);
  if (size == 0) return std::nullopt;
  if (part.size() > kPackedRatioMax * size) {  // possible with zstd only
    return Pack(index, part, LinkCompression::kLz4);
  }
  return PackedPart{index, codec, part.size(),
                    Buffer::CopyOf({room.data(), size})};
}

bool Decompress(LinkCompression codec, const Buffer& packed, std::byte* to,
                size_t size) {
  if (codec == LinkCompression::kLz4) {
    const int got = LZ4_decompress_safe(
        reinterpret_cast<const char*>(packed.data()),
        reinterpret_cast<char*>(to), static_cast<int>(packed.size()),
        static_cast<int>(size));
    return got >= 0 && static_cast<size_t>(got) == size;
  }
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(
      ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  const size_t got = ZSTD_decompressDCtx(context.get(), to, size, packed.data(),
                                         packed.size());
  return ZSTD_isError(got) == 0 && got == size;
}

}  // namespace

std::shared_ptr<const PackedParts> PackParts(const Piece& piece,
                                             LinkCompression codec) {
  FM_CHECK(codec == LinkCompression::kLz4 || codec == LinkCompression::kZstd);
  wire::Builder builder;
  Parts parts(1);
  Frame frame;
  frame.piece = piece;
  wire::PutFrame(builder, frame, parts);
  auto packed = std::make_shared<PackedParts>();
  for (const Buffer& part : parts) packed->raw_bytes += part.size();
  packed->sent_bytes = packed->raw_bytes;
  if (packed->raw_bytes > kUnpackedMax) return packed;
  for (uint32_t k = 1; k < parts.size(); ++k) {
    if (parts[k].size() < kPackFrom) continue;
    std::optional<PackedPart> smaller = Pack(k, parts[k], codec);
    if (!smaller.has_value()) continue;
    packed->sent_bytes -= smaller->size - smaller->bytes.size();
    packed->parts.push_back(*std::move(smaller));
  }
  return packed;
}

absl::StatusOr<Buffer> UnpackPart(LinkCompression codec, const Buffer& packed,
                                  uint64_t size) {
  if (size == 0 || size > kUnpackedMax || packed.size() > kUnpackedMax ||
      size / kPackedRatioMax > packed.size()) {
    return InvalidArgument("{} packed bytes cannot be {} unpacked bytes",
                           packed.size(), size);
  }
  BufferBuilder unpacked(static_cast<size_t>(size));
  std::byte* const to = unpacked.Extend(static_cast<size_t>(size));
  if (!Decompress(codec, packed, to, static_cast<size_t>(size))) {
    return InvalidArgument("{} packed bytes do not unpack to {} bytes",
                           packed.size(), size);
  }
  return std::move(unpacked).Freeze();
}

}  // namespace feedmill

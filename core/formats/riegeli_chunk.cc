#include "core/formats/riegeli_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "core/base/highway_hash.h"
#include "core/base/leb128.h"
#include "core/base/status.h"
#include "core/formats/riegeli_compression.h"

namespace feedmill {
namespace {

constexpr uint64_t kUsableBlockBytes =
    kRiegeliBlockBytes - kRiegeliBlockHeaderBytes;
constexpr HighwayKey kRiegeliKey = {0x2f696c6567656952, 0x0a7364726f636572,
                                    0x2f696c6567656952, 0x0a7364726f636572};
constexpr size_t kVarintBytesMax = 10;

uint64_t LoadWord(const std::byte* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

uint64_t LeftInBlock(uint64_t position) {
  return (kRiegeliBlockBytes - position % kRiegeliBlockBytes) %
         kRiegeliBlockBytes;
}

// True if a chunk may begin at `position`: not within a block header, nor
// immediately behind one.
bool MayBegin(uint64_t position) {
  return LeftInBlock(position) < kUsableBlockBytes;
}

// The chunk whose first byte is at `begin` in the file and first in `bytes`.
class ChunkBytes {
 public:
  ChunkBytes(std::span<const std::byte> bytes, uint64_t begin)
      : bytes_(bytes), begin_(begin) {}

  // True if the first `size` bytes of the chunk are in `bytes`.
  bool Has(uint64_t size) const {
    return size <= bytes_.size() &&
           RiegeliPosition(begin_, size) - begin_ <= bytes_.size();
  }

  // Copies bytes [from, from + out.size()) of the chunk, without the block
  // headers among them. REQUIRES: Has(from + out.size()).
  void Copy(uint64_t from, std::span<std::byte> out) const {
    uint64_t position = PositionOf(from);
    while (!out.empty()) {
      const uint64_t left = kRiegeliBlockBytes - position % kRiegeliBlockBytes;
      const size_t size = std::min<uint64_t>(left, out.size());
      std::memcpy(out.data(), bytes_.data() + (position - begin_), size);
      out = out.subspan(size);
      position += size + kRiegeliBlockHeaderBytes;
    }
  }

  // Returns the same bytes; in `memory` if a block header is among them.
  std::span<const std::byte> View(uint64_t from, size_t size,
                                  std::vector<std::byte>& memory) const {
    const uint64_t position = PositionOf(from);
    if (size <= kRiegeliBlockBytes - position % kRiegeliBlockBytes) {
      return bytes_.subspan(position - begin_, size);
    }
    memory.resize(size);
    Copy(from, memory);
    return memory;
  }

  // Checks the block headers within the first `size` bytes of the chunk, which
  // ends at `end`.
  absl::Status CheckBlocks(uint64_t size, uint64_t end) const {
    const uint64_t last = RiegeliPosition(begin_, size);
    for (uint64_t block = begin_ + LeftInBlock(begin_); block < last;
         block += kRiegeliBlockBytes) {
      const auto header =
          bytes_.subspan(block - begin_, kRiegeliBlockHeaderBytes);
      const std::byte* const at = header.data();
      if (LoadWord(at) != RiegeliHash(header.subspan(8))) {
        return DataLoss("the block header at offset {} is damaged", block);
      }
      if (LoadWord(at + 8) != block - begin_ ||
          LoadWord(at + 16) != end - block) {
        return DataLoss("the block header at offset {} is of another chunk",
                        block);
      }
    }
    return absl::OkStatus();
  }

 private:
  // The position of byte `from` of the chunk, behind a block header.
  uint64_t PositionOf(uint64_t from) const {
    const uint64_t position = RiegeliPosition(begin_, from);
    return position % kRiegeliBlockBytes == 0
               ? position + kRiegeliBlockHeaderBytes
               : position;
  }

  const std::span<const std::byte> bytes_;
  const uint64_t begin_;
};

}  // namespace

uint64_t RiegeliHash(std::span<const std::byte> bytes) {
  return HighwayHash64(kRiegeliKey, bytes);
}

uint64_t RiegeliPosition(uint64_t begin, uint64_t size) {
  const uint64_t before = (begin + kUsableBlockBytes - 1) % kRiegeliBlockBytes;
  return begin + size +
         (size + before) / kUsableBlockBytes * kRiegeliBlockHeaderBytes;
}

uint64_t RiegeliChunkEnd(uint64_t begin, uint64_t size, uint64_t records) {
  const uint64_t least = begin + records;
  const uint64_t left = LeftInBlock(least);
  const uint64_t padding =
      left < kUsableBlockBytes ? 0 : left - (kUsableBlockBytes - 1);
  return std::max(RiegeliPosition(begin, size), least + padding);
}

absl::StatusOr<RiegeliChunk> ParseRiegeliChunk(std::span<const std::byte> bytes,
                                               uint64_t begin,
                                               std::vector<std::byte>& memory) {
  const ChunkBytes in(bytes, begin);
  if (!MayBegin(begin)) return DataLoss("it would begin in a block header");
  if (!in.Has(kRiegeliChunkHeaderBytes)) return DataLoss("it is cut short");
  std::array<std::byte, kRiegeliChunkHeaderBytes> header;
  in.Copy(0, header);
  if (LoadWord(header.data()) != RiegeliHash(std::span(header).subspan(8))) {
    return DataLoss("its header is damaged");
  }
  const uint64_t data_bytes = LoadWord(header.data() + 8);
  const uint64_t type_and_records = LoadWord(header.data() + 24);
  RiegeliChunk chunk;
  chunk.type = static_cast<RiegeliChunkType>(type_and_records & 0xff);
  chunk.records = type_and_records >> 8;
  chunk.decoded_bytes = LoadWord(header.data() + 32);
  if (data_bytes > bytes.size() || chunk.records > bytes.size() ||
      !in.Has(kRiegeliChunkHeaderBytes + data_bytes)) {
    return DataLoss("it is larger than its place");
  }
  const uint64_t size = kRiegeliChunkHeaderBytes + data_bytes;
  const uint64_t end = RiegeliChunkEnd(begin, size, chunk.records);
  if (end - begin > bytes.size()) {
    return DataLoss("it is larger than its place");
  }
  FM_RETURN_IF_ERROR(in.CheckBlocks(size, end));
  const auto data = in.View(kRiegeliChunkHeaderBytes, data_bytes, memory);
  if (LoadWord(header.data() + 16) != RiegeliHash(data)) {
    return DataLoss("its data is damaged");
  }
  chunk.data = {reinterpret_cast<const char*>(data.data()), data.size()};
  return chunk;
}

absl::Status RiegeliDecoder::Decode(const RiegeliChunk& chunk,
                                    std::vector<uint64_t>& ends,
                                    BufferBuilder& values) {
  if (chunk.records == 0) return absl::OkStatus();
  if (chunk.decoded_bytes > kRecordBytesMax) {
    return DataLoss("its records have {} bytes, more than 1 GiB",
                    chunk.decoded_bytes);
  }
  switch (chunk.type) {
    case RiegeliChunkType::kSimple:
      return DecodeSimple(chunk, ends, values);
    case RiegeliChunkType::kTransposed:
      return DataLoss(
          "its records are transposed, which feedmill does not read: write the "
          "file without the option 'transpose'");
    default:
      return DataLoss("it has the type {}, which holds no records",
                      static_cast<int>(chunk.type));
  }
}

absl::Status RiegeliDecoder::DecodeSimple(const RiegeliChunk& chunk,
                                          std::vector<uint64_t>& ends,
                                          BufferBuilder& values) {
  std::string_view left = chunk.data;
  if (left.empty()) return DataLoss("it has no data");
  const auto compression = static_cast<RiegeliCompression>(left.front());
  left.remove_prefix(1);
  const auto sizes_bytes = TakeLeb128(left);
  if (!sizes_bytes || *sizes_bytes > left.size()) {
    return DataLoss("the sizes of its records are damaged");
  }
  const std::string_view packed_sizes = left.substr(0, *sizes_bytes);
  FM_ASSIGN_OR_RETURN(
      const RiegeliBuffer packed_values,
      ParseRiegeliBuffer(compression, left.substr(*sizes_bytes)));
  if (packed_values.size != chunk.decoded_bytes) {
    return DataLoss("its records have {} bytes, where {} are stated",
                    packed_values.size, chunk.decoded_bytes);
  }
  if (chunk.records == 1) {
    ends.push_back(chunk.decoded_bytes);  // known without `packed_sizes`
  } else {
    FM_RETURN_IF_ERROR(DecodeSizes(chunk, static_cast<uint8_t>(compression),
                                   packed_sizes, ends));
  }
  const std::span<char> out(
      reinterpret_cast<char*>(values.Extend(chunk.decoded_bytes)),
      chunk.decoded_bytes);
  return decompressor_.Decompress(compression, packed_values, out);
}

absl::Status RiegeliDecoder::DecodeSizes(const RiegeliChunk& chunk,
                                         uint8_t compression,
                                         std::string_view packed,
                                         std::vector<uint64_t>& ends) {
  const auto kind = static_cast<RiegeliCompression>(compression);
  FM_ASSIGN_OR_RETURN(const RiegeliBuffer buffer,
                      ParseRiegeliBuffer(kind, packed));
  if (buffer.size > kVarintBytesMax * chunk.records) {
    return DataLoss("the sizes of its records are damaged");
  }
  std::string& sizes = sizes_;
  sizes.resize(buffer.size);
  FM_RETURN_IF_ERROR(decompressor_.Decompress(kind, buffer, sizes));
  std::string_view left = sizes;
  uint64_t end = 0;
  for (uint64_t k = 0; k < chunk.records; ++k) {
    const auto size = TakeLeb128(left);
    if (!size || *size > chunk.decoded_bytes - end) {
      return DataLoss("the sizes of its records are damaged");
    }
    end += *size;
    ends.push_back(end);
  }
  if (left.empty() && end == chunk.decoded_bytes) return absl::OkStatus();
  return DataLoss("its records have {} bytes, where {} are stated", end,
                  chunk.decoded_bytes);
}

}  // namespace feedmill

#ifndef FEEDMILL_TESTS_REFERENCE_RIEGELI_WRITER_H_
#define FEEDMILL_TESTS_REFERENCE_RIEGELI_WRITER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/highway_hash.h"
#include "core/base/leb128.h"

namespace feedmill::reference {

// Writes the chunks of a Riegeli/records file into memory, as its specification
// says.
class RiegeliWriter {
 public:
  static constexpr size_t kBlock = 65536;

  // `begin`: the position of the first byte in the file.
  explicit RiegeliWriter(size_t begin = 0) : begin_(begin) {}

  const std::string& bytes() const { return bytes_; }
  size_t position() const { return begin_ + bytes_.size(); }

  // Appends a chunk and returns its position. `stated`: the size of the data in
  // the header, if it is another.
  size_t Chunk(char type, uint64_t records, uint64_t decoded,
               const std::string& data,
               std::optional<uint64_t> stated = std::nullopt) {
    const size_t begin = position();
    std::string header;
    PutWord(stated.value_or(data.size()), header);
    PutWord(Hash(data), header);
    PutWord(records << 8 | static_cast<uint8_t>(type), header);
    PutWord(decoded, header);
    std::string whole;
    PutWord(Hash(header), whole);
    whole += header + data;
    std::vector<size_t> blocks;  // positions of block headers
    Put(whole, blocks);
    while (position() - begin < records || InBlockHeader(position())) {
      Put(std::string(1, '\0'), blocks);
    }
    for (const size_t block : blocks) {
      std::string numbers;
      PutWord(block - begin, numbers);
      PutWord(position() - block, numbers);
      std::string block_header;
      PutWord(Hash(numbers), block_header);
      block_header += numbers;
      bytes_.replace(block - begin_, block_header.size(), block_header);
    }
    return begin;
  }

  // Appends an uncompressed chunk of these records.
  size_t Records(const std::vector<std::string>& records) {
    std::string sizes;
    std::string values;
    for (const std::string& record : records) {
      PutLeb128(sizes, record.size());
      values += record;
    }
    std::string data(1, '\0');
    PutLeb128(data, sizes.size());
    return Chunk('r', records.size(), values.size(), data + sizes + values);
  }

  // Appends a chunk without records up to the next block.
  void Pad() {
    size_t left = kBlock - position() % kBlock;
    if (left == kBlock) return;
    if (left < kHeader) left += kBlock - kBlockHeader;
    Chunk('p', 0, 0, std::string(left - kHeader, '\0'));
  }

 private:
  static constexpr size_t kHeader = 40;
  static constexpr size_t kBlockHeader = 24;

  static uint64_t Hash(std::string_view bytes) {
    return HighwayHash64({0x2f696c6567656952, 0x0a7364726f636572,
                          0x2f696c6567656952, 0x0a7364726f636572},
                         std::as_bytes(std::span(bytes)));
  }
  static void PutWord(uint64_t value, std::string& out) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static bool InBlockHeader(size_t position) {
    const size_t at = position % kBlock;
    return at > 0 && at <= kBlockHeader;
  }
  void Put(std::string_view bytes, std::vector<size_t>& blocks) {
    while (!bytes.empty()) {
      if (position() % kBlock == 0) {
        blocks.push_back(position());
        bytes_.append(kBlockHeader, '\0');
      }
      const size_t size = std::min(bytes.size(), kBlock - position() % kBlock);
      bytes_ += bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
  }

  const size_t begin_;
  std::string bytes_;
};

// A chunk in the footer of an ArrayRecord file.
struct ArrayRecordChunk {
  uint64_t offset = 0;
  uint64_t decoded = 0;
  uint64_t records = 0;
};

inline void PutProtoNumber(uint64_t field, uint64_t value, std::string& out) {
  PutLeb128(out, field << 3);
  PutLeb128(out, value);
}

// Returns the records of a footer.
inline std::vector<std::string> ArrayRecordFooter(
    const std::vector<ArrayRecordChunk>& chunks) {
  uint64_t records = 0;
  for (const ArrayRecordChunk& chunk : chunks) records += chunk.records;
  std::string inner;
  PutProtoNumber(1, 1, inner);
  PutProtoNumber(2, chunks.size(), inner);
  PutProtoNumber(3, records, inner);
  std::string metadata;
  PutProtoNumber(0, inner.size(), metadata);
  metadata[0] = 1 << 3 | 2;  // a message
  std::vector<std::string> footer = {metadata + inner};
  for (const ArrayRecordChunk& chunk : chunks) {
    std::string& entry = footer.emplace_back();
    PutProtoNumber(1, chunk.offset, entry);
    PutProtoNumber(2, chunk.decoded, entry);
    PutProtoNumber(3, chunk.records, entry);
  }
  return footer;
}

// Appends the postscript of a file whose footer is at this position.
inline void PutPostscript(size_t footer, RiegeliWriter& writer) {
  std::string postscript;
  PutProtoNumber(1, footer, postscript);
  PutProtoNumber(2, 0x71930e704fdae05e, postscript);
  writer.Records({postscript, postscript, postscript});
  writer.Pad();
}

// Returns an uncompressed ArrayRecord file with `group` records a chunk.
inline std::string ArrayRecordFile(const std::vector<std::string>& records,
                                   size_t group) {
  RiegeliWriter writer;
  writer.Chunk('s', 0, 0, "");
  std::vector<ArrayRecordChunk> chunks;
  for (size_t k = 0; k < records.size(); k += group) {
    const std::vector<std::string> some(
        records.begin() + static_cast<ptrdiff_t>(k),
        records.begin() +
            static_cast<ptrdiff_t>(std::min(k + group, records.size())));
    uint64_t bytes = 0;
    for (const std::string& record : some) bytes += record.size();
    chunks.push_back({writer.Records(some), bytes, some.size()});
  }
  const size_t footer = writer.Records(ArrayRecordFooter(chunks));
  writer.Pad();
  PutPostscript(footer, writer);
  return writer.bytes();
}

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_RIEGELI_WRITER_H_

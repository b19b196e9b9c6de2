// Chunks and footers of ArrayRecord files, with sound hashes: records are found
// and decoded, or they are damaged.
//
// The input is a list of chunks: a type, the number of records, the decoded
// bytes, the size of the data, and the data. The lowest two bits of the first
// byte choose what they are.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/leb128.h"
#include "core/formats/array_record_index.h"
#include "core/formats/riegeli_chunk.h"
#include "tests/fuzz/memory_file.h"
#include "tests/reference/riegeli_writer.h"

namespace feedmill {
namespace {

enum Mode { kBytes = 0, kChunks = 1, kFooter = 2, kFile = 3 };

// Decodes a chunk: its records fill the values, or it is damaged.
void CheckChunk(std::string_view bytes, uint64_t begin) {
  static RiegeliDecoder& decoder = *new RiegeliDecoder;
  std::vector<std::byte> memory;
  const auto chunk =
      ParseRiegeliChunk(std::as_bytes(std::span(bytes)), begin, memory);
  FM_CHECK(chunk.ok() || absl::IsDataLoss(chunk.status()));
  if (!chunk.ok()) return;
  std::vector<uint64_t> ends;
  BufferBuilder values;
  const absl::Status status = decoder.Decode(*chunk, ends, values);
  FM_CHECK(status.ok() || absl::IsDataLoss(status));
  if (!status.ok()) return;
  FM_CHECK(ends.size() == chunk->records);
  uint64_t before = 0;
  for (const uint64_t end : ends) {
    FM_CHECK(before <= end);
    before = end;
  }
  FM_CHECK(before == values.size());
}

void CheckFile(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto index = ReadArrayRecordIndex(file, bytes.size());
  FM_CHECK(index.ok() || absl::IsDataLoss(index.status()));
  if (!index.ok()) return;
  uint64_t records = 0;
  for (size_t chunk = 0; chunk < index->chunks(); ++chunk) {
    FM_CHECK(index->FirstRecordOf(chunk) == records);
    records += index->RecordsOf(chunk);
    FM_CHECK(index->ChunkOf(records - 1) == chunk);
    const ByteRange range = index->RangeOf(chunk);
    FM_CHECK(range.size <= bytes.size() &&
             range.offset <= bytes.size() - range.size);
    CheckChunk(bytes.substr(range.offset, range.size), range.offset);
  }
  FM_CHECK(records == index->records());
}

// Takes a chunk from the input and writes it.
void TakeChunk(std::string_view& input, reference::RiegeliWriter& writer) {
  const char type = input.front();
  input.remove_prefix(1);
  const uint64_t records = TakeLeb128(input).value_or(1) % (1 << 17);
  const uint64_t decoded = TakeLeb128(input).value_or(1);
  const uint64_t size = TakeLeb128(input).value_or(0);
  const std::string data(input.substr(0, size));
  input.remove_prefix(data.size());
  std::optional<uint64_t> stated;
  if (size % 64 == 63) stated = decoded;
  writer.Chunk(type, records, decoded, data, stated);
}

void CheckChunks(std::string_view input) {
  // Blocks interrupt chunks at any place.
  constexpr size_t kBlock = reference::RiegeliWriter::kBlock;
  const uint64_t begin = TakeLeb128(input).value_or(0) % kBlock;
  if (begin > 0 && begin <= 24) return;
  while (!input.empty()) {
    reference::RiegeliWriter writer(begin);
    TakeChunk(input, writer);
    CheckChunk(writer.bytes(), begin);
  }
}

// A file of the chunks. `listed`: the footer is sound; otherwise the last chunk
// is the footer.
void CheckChunksAsFile(std::string_view input, bool listed) {
  reference::RiegeliWriter writer;
  writer.Chunk('s', 0, 0, "");
  std::vector<reference::ArrayRecordChunk> chunks;
  size_t last = 0;
  while (!input.empty()) {
    std::string_view head = input.substr(1);
    const uint64_t records = TakeLeb128(head).value_or(1) % (1 << 17);
    last = writer.position();
    chunks.push_back({last, 0, records});
    TakeChunk(input, writer);
  }
  if (listed) last = writer.Records(ArrayRecordFooter(chunks));
  writer.Pad();
  reference::PutPostscript(last, writer);
  CheckFile(writer.bytes());
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedmill;
  if (size == 0 || size > 20'000) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const int mode = input.front() & 3;
  input.remove_prefix(1);
  if (mode == kBytes) {
    CheckChunk(input, 64);
    CheckFile(input);
  }
  if (mode == kChunks) CheckChunks(input);
  if (mode == kFooter) CheckChunksAsFile(input, false);
  if (mode == kFile) CheckChunksAsFile(input, true);
  return 0;
}

#include <atomic>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/formats/array_record_index.h"
#include "core/formats/riegeli_chunk.h"
#include "core/io/manifest_files.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_cache.h"

namespace feedmill {
namespace {

constexpr size_t kIndexBytesKept = size_t{256} << 20;
constexpr size_t kChunkBytesKept = size_t{256} << 20;
// If more is kept, a chunk is dropped once all its records were taken, so that
// a pass in order needs little memory.
constexpr size_t kTakenBytesKept = size_t{32} << 20;
// Bytes of adjacent chunks that are read at once: few enough to stay in the
// cache while they are decoded.
constexpr uint64_t kWindowBytes = uint64_t{256} << 10;

// The records of a chunk, decoded. Immutable except for `taken`.
struct DecodedChunk {
  Buffer values;
  std::vector<uint64_t> ends;
  mutable std::atomic<uint64_t> taken = 0;  // records

  size_t bytes() const {
    return values.size() + ends.size() * sizeof(uint64_t);
  }
};

class ArrayRecordRecords final : public RecordSource {
 public:
  explicit ArrayRecordRecords(std::shared_ptr<const Manifest> manifest)
      : files_(std::move(manifest)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Memory>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override;

  std::string Describe(uint64_t index, uint64_t) const override {
    return files_.NameOfRecord(index);
  }

 private:
  using Index = std::shared_ptr<const ArrayRecordIndex>;
  using Chunk = std::shared_ptr<const DecodedChunk>;

  // The file of the last record, so that the locks of the caches are taken once
  // for successive records of a file.
  struct CurrentFile {
    size_t file = 0;
    Index index{};  // null: none yet
    std::shared_ptr<const RandomAccessFile> opened{};
  };
  struct Memory final : Scratch {
    CurrentFile current;
    RiegeliDecoder decoder;
    std::vector<std::byte> chunk;
    std::vector<uint64_t> ends;
    // Bytes of the current file from window_begin on.
    BufferBuilder window;
    uint64_t window_begin = 0;
  };

  absl::StatusOr<Index> IndexOf(size_t file) const;
  absl::Status MoveTo(size_t file, Memory& memory) const;
  absl::StatusOr<size_t> Announce(std::span<const uint64_t> indexes,
                                  size_t bytes_max) const;
  uint64_t WindowEnd(std::span<const uint64_t> indexes,
                     const CurrentFile& current, size_t chunk) const;
  absl::StatusOr<std::span<const std::byte>> BytesOf(
      std::span<const uint64_t> indexes, size_t chunk, Memory& memory) const;
  absl::Status Decode(std::span<const uint64_t> indexes, size_t chunk,
                      Memory& memory, BufferBuilder& values) const;
  absl::Status AppendSingle(std::span<const uint64_t> indexes, size_t chunk,
                            Memory& memory, RecordBlock& out) const;
  absl::Status AppendOfMany(std::span<const uint64_t> indexes, size_t chunk,
                            size_t bytes_max, Memory& memory,
                            RecordBlock& out) const;
  absl::Status AppendNext(std::span<const uint64_t> indexes, size_t bytes_max,
                          Memory& memory, RecordBlock& out) const;

  const ManifestFiles files_;
  const ValueCache<size_t, ArrayRecordIndex> indexes_{kIndexBytesKept};
  const ValueCache<std::pair<size_t, size_t>, DecodedChunk> chunks_{
      kChunkBytesKept};  // by file and chunk
};

absl::StatusOr<ArrayRecordRecords::Index> ArrayRecordRecords::IndexOf(
    size_t file) const {
  return indexes_.Get(file, [&]() -> absl::StatusOr<Index> {
    FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
    const ManifestFile& info = files_.info(file);
    auto index = ReadArrayRecordIndex(*opened, info.size);
    FM_RETURN_IF_ERROR(files_.Check(file, *opened));
    FM_RETURN_IF_ERROR(index.status());
    if (index->records() != info.records) return files_.Changed(file);
    return std::make_shared<const ArrayRecordIndex>(*std::move(index));
  });
}

absl::Status ArrayRecordRecords::MoveTo(size_t file, Memory& memory) const {
  CurrentFile& current = memory.current;
  if (current.index != nullptr && current.file == file) {
    return absl::OkStatus();
  }
  current.index = nullptr;
  memory.window.Truncate(0);
  FM_ASSIGN_OR_RETURN(Index index, IndexOf(file));
  FM_ASSIGN_OR_RETURN(current.opened, files_.Open(file));
  current.file = file;
  current.index = std::move(index);
  return absl::OkStatus();
}

// Announces the chunks that the records need, about `bytes_max` of them, where
// reads wait. Returns the number of records whose chunks are announced.
absl::StatusOr<size_t> ArrayRecordRecords::Announce(
    std::span<const uint64_t> indexes, size_t bytes_max) const {
  std::map<size_t, std::vector<ByteRange>> by_file;
  uint64_t bytes = 0;
  size_t count = 0;
  while (count < indexes.size() && (count == 0 || bytes < bytes_max)) {
    const auto place = files_.Find(indexes[count++]);
    const auto index = IndexOf(place.file);
    if (absl::IsDataLoss(index.status())) break;  // Read reports it
    FM_RETURN_IF_ERROR(index.status());
    const size_t chunk = (*index)->ChunkOf(place.record);
    std::vector<ByteRange>& ranges = by_file[place.file];
    const ByteRange range = (*index)->RangeOf(chunk);
    if (range.size > kRiegeliChunkBytesMax) break;  // Read reports it
    if (!ranges.empty() && ranges.back() == range) continue;
    if (chunks_.Find({place.file, chunk}) != nullptr) continue;
    ranges.push_back(range);
    bytes += range.size;
  }
  for (const auto& [file, ranges] : by_file) {
    FM_ASSIGN_OR_RETURN(const auto opened, files_.Open(file));
    if (opened->ahead_bytes() > 0) opened->Prefetch(ranges);
  }
  return count;
}

// Returns the end of the adjacent chunks, from `chunk` on, that the records
// need in this order.
uint64_t ArrayRecordRecords::WindowEnd(std::span<const uint64_t> indexes,
                                       const CurrentFile& current,
                                       size_t chunk) const {
  const ArrayRecordIndex& index = *current.index;
  const uint64_t begin = index.RangeOf(chunk).offset;
  size_t last = chunk;
  for (const uint64_t record : indexes.subspan(1)) {
    const auto place = files_.FindNear(record, current.file);
    if (place.file != current.file) break;
    const size_t next = index.ChunkOf(place.record);
    if (next == last) continue;
    const ByteRange range = index.RangeOf(next);
    if (next != last + 1 || range.offset + range.size > begin + kWindowBytes) {
      break;
    }
    last = next;
  }
  const ByteRange range = index.RangeOf(last);
  return range.offset + range.size;
}

// Returns the bytes of a chunk of the current file, read together with the
// chunks that the records need next.
absl::StatusOr<std::span<const std::byte>> ArrayRecordRecords::BytesOf(
    std::span<const uint64_t> indexes, size_t chunk, Memory& memory) const {
  const ByteRange range = memory.current.index->RangeOf(chunk);
  if (range.size > kRiegeliChunkBytesMax) {
    return DataLoss("chunk {} at offset {}: it is larger than 1 GiB", chunk,
                    range.offset);
  }
  BufferBuilder& window = memory.window;
  if (range.offset < memory.window_begin ||
      range.offset + range.size > memory.window_begin + window.size()) {
    window.Truncate(0);
    memory.window_begin = range.offset;
    const uint64_t bytes =
        WindowEnd(indexes, memory.current, chunk) - range.offset;
    const std::span<std::byte> out(window.Extend(bytes), bytes);
    const absl::Status status = files_.Read(
        memory.current.file, *memory.current.opened, range.offset, out);
    if (!status.ok()) {
      window.Truncate(0);
      return status;
    }
  }
  return std::span<const std::byte>(
      window.data() + (range.offset - memory.window_begin), range.size);
}

// Appends the records of a chunk of the current file to `values`, and sets
// memory.ends.
absl::Status ArrayRecordRecords::Decode(std::span<const uint64_t> indexes,
                                        size_t chunk, Memory& memory,
                                        BufferBuilder& values) const {
  const ArrayRecordIndex& index = *memory.current.index;
  const uint64_t offset = index.RangeOf(chunk).offset;
  FM_ASSIGN_OR_RETURN(const auto bytes, BytesOf(indexes, chunk, memory));
  const auto decode = [&]() -> absl::Status {
    FM_ASSIGN_OR_RETURN(const RiegeliChunk parsed,
                        ParseRiegeliChunk(bytes, offset, memory.chunk));
    if (parsed.records != index.RecordsOf(chunk)) {
      return DataLoss("it has {} records, where the footer says {}",
                      parsed.records, index.RecordsOf(chunk));
    }
    memory.ends.clear();
    return memory.decoder.Decode(parsed, memory.ends, values);
  };
  const absl::Status status = decode();
  if (status.ok() || !absl::IsDataLoss(status)) return status;
  return Annotate(status, fmt::format("chunk {} at offset {}", chunk, offset));
}

// Appends the record of a chunk that has one.
absl::Status ArrayRecordRecords::AppendSingle(std::span<const uint64_t> indexes,
                                              size_t chunk, Memory& memory,
                                              RecordBlock& out) const {
  OutputColumn& column = out.columns[0];
  FM_RETURN_IF_ERROR(Decode(indexes, chunk, memory, column.values));
  column.offsets.Push(static_cast<int64_t>(column.values.size()));
  ++out.rows;
  return absl::OkStatus();
}

// Appends the first of the records and those that follow it in `indexes` and
// are in the same chunk, at most about `bytes_max`.
absl::Status ArrayRecordRecords::AppendOfMany(std::span<const uint64_t> indexes,
                                              size_t chunk, size_t bytes_max,
                                              Memory& memory,
                                              RecordBlock& out) const {
  const size_t file = memory.current.file;
  FM_ASSIGN_OR_RETURN(
      const Chunk decoded,
      chunks_.Get({file, chunk}, [&]() -> absl::StatusOr<Chunk> {
        BufferBuilder values;
        FM_RETURN_IF_ERROR(Decode(indexes, chunk, memory, values));
        auto made = std::make_shared<DecodedChunk>();
        made->values = std::move(values).Freeze();
        made->ends = memory.ends;
        return made;
      }));
  OutputColumn& column = out.columns[0];
  const uint64_t first = memory.current.index->FirstRecordOf(chunk);
  size_t taken = 0;
  for (const uint64_t record : indexes) {
    const auto place = files_.FindNear(record, file);
    if (place.file != file || place.record < first ||
        place.record - first >= decoded->ends.size() ||
        (taken > 0 && column.values.size() >= bytes_max)) {
      break;
    }
    const size_t k = place.record - first;
    const uint64_t begin = k == 0 ? 0 : decoded->ends[k - 1];
    column.values.Append(decoded->values.data() + begin,
                         decoded->ends[k] - begin);
    column.offsets.Push(static_cast<int64_t>(column.values.size()));
    ++taken;
  }
  out.rows += taken;
  const uint64_t all = decoded->taken.fetch_add(taken) + taken;
  if (all >= decoded->ends.size() && chunks_.bytes() > kTakenBytesKept) {
    chunks_.Drop({file, chunk}, decoded.get());
  }
  return absl::OkStatus();
}

absl::Status ArrayRecordRecords::AppendNext(std::span<const uint64_t> indexes,
                                            size_t bytes_max, Memory& memory,
                                            RecordBlock& out) const {
  const auto place = memory.current.index == nullptr
                         ? files_.Find(indexes[0])
                         : files_.FindNear(indexes[0], memory.current.file);
  FM_RETURN_IF_ERROR(MoveTo(place.file, memory));
  const ArrayRecordIndex& index = *memory.current.index;
  const size_t chunk = index.ChunkOf(place.record);
  return index.RecordsOf(chunk) == 1
             ? AppendSingle(indexes, chunk, memory, out)
             : AppendOfMany(indexes, chunk, bytes_max, memory, out);
}

absl::StatusOr<size_t> ArrayRecordRecords::Read(
    std::span<const uint64_t> indexes, size_t bytes_max, Scratch& scratch,
    RecordBlock& out) const {
  out.ResetScalars({{DType::kBytes}});
  if (files_.has_urls()) {
    FM_ASSIGN_OR_RETURN(const size_t count, Announce(indexes, bytes_max));
    indexes = indexes.first(count);
  }
  auto& memory = static_cast<Memory&>(scratch);
  memory.current = {};
  memory.window.Truncate(0);
  while (out.rows < indexes.size() &&
         (out.rows == 0 || out.columns[0].values.size() < bytes_max)) {
    const absl::Status status =
        AppendNext(indexes.subspan(out.rows), bytes_max, memory, out);
    if (absl::IsDataLoss(status)) {
      out.Truncate(out.rows);
      out.error = Annotate(status, Describe(indexes[out.rows], 0));
      break;
    }
    FM_RETURN_IF_ERROR(status);
  }
  memory.current = {};
  return out.rows;
}

}  // namespace

std::unique_ptr<const RecordSource> MakeArrayRecordSource(
    std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<ArrayRecordRecords>(std::move(manifest));
}

}  // namespace feedmill

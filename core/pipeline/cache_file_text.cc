#include "core/pipeline/cache_file_text.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kManifestFormat = "feedmill list  1";
static_assert(kManifestFormat.size() == kCacheFormat.size());

// File: magic | key | size of the head | checksum of the head | head, padded |
// values.
// The head has, for each segment, the source of its rows, the places of its
// columns' buffers, and the checksums of its parts.
constexpr size_t kNumbersBytes = 2 * sizeof(uint64_t);
constexpr size_t kHeadAt = kCacheFormat.size() + kCacheKeyBytes + kNumbersBytes;
constexpr size_t kCachedRankMax = 64;
// Least bytes of a segment in a head, and of a file in a manifest.
constexpr size_t kSegmentBytesMin = 11 * sizeof(uint64_t);
constexpr size_t kListedBytesMin = 3 * sizeof(uint64_t);

size_t Aligned(size_t at) {
  return (at + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

class HeadWriter {
 public:
  void Number(uint64_t value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void Numbers(const std::vector<T>& values) {
    Number(values.size());
    text_.append(reinterpret_cast<const char*>(values.data()),
                 values.size() * sizeof(T));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Reads numbers from a head. The head has a checksum, but its numbers are
// checked anyway.
class HeadReader {
 public:
  explicit HeadReader(std::string_view text) : text_(text) {}

  uint64_t Number() {
    uint64_t value = 0;
    if (text_.size() < sizeof value) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> Numbers(size_t most = SIZE_MAX) {
    const uint64_t count = Number();
    if (count > most || count > text_.size() / sizeof(T)) {
      ok_ = false;
      return {};
    }
    if (count == 0) return {};
    std::vector<T> values(count);
    std::memcpy(values.data(), text_.data(), count * sizeof(T));
    text_.remove_prefix(count * sizeof(T));
    return values;
  }
  // Reads the number of entries that follow, of at least `each` bytes each.
  uint64_t Count(size_t each) {
    const uint64_t count = Number();
    if (count > text_.size() / each) ok_ = false;
    return ok_ ? count : 0;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view text_;
  bool ok_ = true;
};

void WriteSegment(const CacheSegment& segment, HeadWriter& head,
                  std::string& values) {
  const Chunk& chunk = *segment.rows.chunk;
  const uint64_t part_rows = PartRows(chunk);
  head.Number(segment.block);
  head.Number(segment.first);
  head.Number(segment.count);
  head.Number(segment.more);
  head.Numbers(segment.positions);
  head.Number(segment.dropped);
  head.Numbers(segment.origins);
  head.Number(chunk.rows);
  head.Number(chunk.ElementBytes());
  head.Number(part_rows);
  head.Numbers(PartChecksums(chunk, part_rows));
  for (const Column& column : chunk.columns) {
    head.Numbers(
        std::vector<int64_t>(column.shape.begin(), column.shape.end()));
    for (const Buffer* const buffer : BuffersOf(column)) {
      head.Number(values.size());
      head.Number(buffer->size());
      values.append(reinterpret_cast<const char*>(buffer->data()),
                    buffer->size());
      values.resize(Aligned(values.size()));
    }
  }
}

// True if rows of that shape, with `item_bytes` per item, fit into `size`
// bytes.
bool RowsFit(const Shape& shape, uint64_t rows, uint64_t item_bytes,
             uint64_t size) {
  uint64_t bytes = item_bytes;
  for (const int64_t dim : shape) {
    if (dim < 0 ||
        __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
      return false;
    }
  }
  return !__builtin_mul_overflow(bytes, rows, &bytes) && bytes <= size;
}

absl::Status Contradiction() { return DataLoss("its header is inconsistent"); }

// Reads the columns of `rows`, whose values are in the `size` bytes from
// `begin` on.
absl::Status ReadColumns(HeadReader& head, uint64_t begin, uint64_t size,
                         StoredRows& rows) {
  for (const ComponentSpec& component : rows.spec->components) {
    StoredRows::StoredColumn& column = rows.columns.emplace_back();
    const auto shape = head.Numbers<int64_t>(kCachedRankMax);
    column.shape.assign(shape.begin(), shape.end());
    for (StoredRows::FileRange& place : column.places) {
      const uint64_t at = head.Number();
      place.size = head.Number();
      if (!head.ok()) return Contradiction();
      if (at > size || place.size > size - at) {
        return DataLoss("a column is not in the file");
      }
      place.at = begin + at;
    }
    const auto& [values, offsets, row_shapes, row_starts] = column.places;
    const bool is_bytes = component.dtype == DType::kBytes;
    if (rows.rows > 0 && row_starts.size == 0 &&
        !RowsFit(column.shape, rows.rows,
                 is_bytes ? sizeof(int64_t) : ItemSize(component.dtype),
                 is_bytes ? offsets.size : values.size)) {
      return Contradiction();
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSegment(HeadReader& head, uint64_t begin, uint64_t size,
                         StoredRows rows, CacheSegment& segment) {
  segment.block = head.Number() != 0;
  segment.first = head.Number();
  segment.count = head.Number();
  segment.more = head.Number() != 0;
  segment.positions = head.Numbers<uint64_t>();
  segment.dropped = head.Number() != 0;
  segment.origins = head.Numbers<uint32_t>();
  rows.rows = head.Number();
  rows.bytes = head.Number();
  rows.part_rows = head.Number();
  rows.checksums = head.Numbers<uint64_t>();
  const size_t of = segment.block ? segment.count : segment.positions.size();
  const size_t made = segment.dropped ? segment.origins.size() : of;
  if (!head.ok() || made != rows.rows || rows.part_rows == 0 ||
      rows.part_rows > std::max<uint64_t>(rows.rows, 1) ||
      rows.checksums.size() != rows.PartCount() ||
      (segment.block && segment.positions.size() != 1) ||
      (segment.dropped && made > 0 && segment.origins.back() >= of)) {
    return Contradiction();
  }
  FM_RETURN_IF_ERROR(ReadColumns(head, begin, size, rows));
  segment.rows.stored = std::make_shared<const StoredRows>(std::move(rows));
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadText(const RandomAccessFile& file, uint64_t at,
                                     uint64_t size) {
  std::string text(size, '\0');
  FM_ASSIGN_OR_RETURN(const size_t got,
                      file.Read(at, std::as_writable_bytes(std::span(text))));
  if (got != size) return DataLoss("it is cut short");
  return text;
}

uint64_t HashOf(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

std::string NameOfContents(std::string_view text, std::string_view extension) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, extension);
}

CacheFileText CacheFileTextOf(const std::string& key,
                              const std::vector<CacheSegment>& segments) {
  HeadWriter head;
  std::string values;
  head.Number(segments.size());
  for (const CacheSegment& segment : segments) {
    WriteSegment(segment, head, values);
  }
  HeadWriter before;
  before.Number(head.text().size());
  before.Number(XXH3_64bits(head.text().data(), head.text().size()));
  std::string text =
      std::string(kCacheFormat) + key + before.text() + head.text();
  text.resize(Aligned(text.size()));
  return {head.text(), text + values};
}

absl::StatusOr<std::vector<CacheSegment>> ReadCacheHead(
    std::string_view text, uint64_t size,
    const std::shared_ptr<CacheFile>& file,
    const std::shared_ptr<const ElementSpec>& spec) {
  const uint64_t begin = Aligned(kHeadAt + text.size());
  if (begin > size) return DataLoss("it is cut short");
  HeadReader head(text);
  std::vector<CacheSegment> segments;
  for (uint64_t left = head.Count(kSegmentBytesMin); left > 0; --left) {
    StoredRows rows;
    rows.file = file;
    rows.spec = spec;
    FM_RETURN_IF_ERROR(ReadSegment(head, begin, size - begin, std::move(rows),
                                   segments.emplace_back()));
  }
  if (!head.ok()) return Contradiction();
  return segments;
}

absl::StatusOr<std::vector<CacheSegment>> ReadCacheFile(
    const RandomAccessFile& opened, const std::string& key,
    const std::shared_ptr<CacheFile>& file,
    const std::shared_ptr<const ElementSpec>& spec) {
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, opened.Identity());
  FM_ASSIGN_OR_RETURN(const std::string before, ReadText(opened, 0, kHeadAt));
  if (!before.starts_with(kCacheFormat) ||
      before.compare(kCacheFormat.size(), kCacheKeyBytes, key) != 0) {
    return DataLoss("it is not a file of this cache");
  }
  HeadReader numbers(std::string_view(before).substr(kHeadAt - kNumbersBytes));
  const uint64_t size = numbers.Number();
  const uint64_t checksum = numbers.Number();
  if (identity.size < kHeadAt || size > identity.size - kHeadAt) {
    return DataLoss("its head is damaged");
  }
  FM_ASSIGN_OR_RETURN(const std::string head, ReadText(opened, kHeadAt, size));
  if (HashOf(head) != checksum) return DataLoss("its head is damaged");
  return ReadCacheHead(head, identity.size, file, spec);
}

std::string CacheManifestText(const std::string& key,
                              const std::vector<ListedCacheFile>& files) {
  HeadWriter list;
  list.Number(files.size());
  for (const ListedCacheFile& file : files) {
    list.Numbers(std::vector<char>(file.name.begin(), file.name.end()));
    list.Number(file.size);
    list.Numbers(std::vector<char>(file.head.begin(), file.head.end()));
  }
  HeadWriter before;
  before.Number(HashOf(list.text()));
  return std::string(kManifestFormat) + key + before.text() + list.text();
}

absl::StatusOr<std::vector<ListedCacheFile>> ParseCacheManifest(
    std::string_view text, const std::string& key) {
  constexpr size_t kListAt =
      kManifestFormat.size() + kCacheKeyBytes + sizeof(uint64_t);
  if (text.size() < kListAt || !text.starts_with(kManifestFormat) ||
      text.compare(kManifestFormat.size(), kCacheKeyBytes, key) != 0) {
    return DataLoss("it is not a manifest of this cache");
  }
  HeadReader checksum(text.substr(kListAt - sizeof(uint64_t)));
  const std::string_view list = text.substr(kListAt);
  if (HashOf(list) != checksum.Number()) return DataLoss("it is damaged");
  HeadReader reader(list);
  std::vector<ListedCacheFile> files;
  for (uint64_t left = reader.Count(kListedBytesMin); left > 0 && reader.ok();
       --left) {
    const auto name = reader.Numbers<char>();
    const uint64_t size = reader.Number();
    const auto head = reader.Numbers<char>();
    files.push_back(
        {{name.begin(), name.end()}, size, {head.begin(), head.end()}});
  }
  if (!reader.ok()) return Contradiction();
  return files;
}

}  // namespace feedmill

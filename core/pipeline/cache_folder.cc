#include "core/pipeline/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/base/status.h"
#include "core/io/folder_file.h"
#include "core/io/local_files.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = CacheFolder::kFormat;

// File: magic | key | size of the head | checksum of the head | head, padded |
// values.
// The head has, for each segment, the source of its rows, the places of its
// columns' buffers, and the checksums of its parts.
constexpr size_t kNumbersBytes = 2 * sizeof(uint64_t);
constexpr size_t kHeadAt =
    kMagic.size() + CacheFolder::kKeyBytes + kNumbersBytes;
constexpr size_t kCachedRankMax = 64;

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

struct FileText {
  std::string head;
  std::string whole;
};

FileText TextOf(const std::string& key,
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
  std::string text = std::string(kMagic) + key + before.text() + head.text();
  text.resize(Aligned(text.size()));
  return {head.text(), text + values};
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
    for (StoredRows::Place& place : column.places) {
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

// Reads the segments of a file of `size` bytes from its head.
absl::StatusOr<std::vector<CacheSegment>> ReadHead(
    std::string_view text, uint64_t size,
    const std::shared_ptr<CacheFile>& file,
    const std::shared_ptr<const ElementSpec>& spec) {
  const uint64_t begin = Aligned(kHeadAt + text.size());
  if (begin > size) return DataLoss("it is cut short");
  HeadReader head(text);
  std::vector<CacheSegment> segments;
  for (uint64_t left = head.Number(); left > 0; --left) {
    StoredRows rows;
    rows.file = file;
    rows.spec = spec;
    FM_RETURN_IF_ERROR(ReadSegment(head, begin, size - begin, std::move(rows),
                                   segments.emplace_back()));
  }
  return segments;
}

// True if the path still names the opened file. A process that found the damage
// earlier may have deleted the file and written it again.
bool IsAtItsPath(CacheFile& file) {
  const auto opened = file.Open();
  if (!opened.ok()) return false;
  const auto own = (*opened)->Identity();
  const auto now = LocalFileSystem().Stat(file.path());
  return own.ok() && now.ok() && *own == now->identity;
}

absl::StatusOr<std::string> ReadText(const RandomAccessFile& file, uint64_t at,
                                     uint64_t size) {
  std::string text(size, '\0');
  FM_ASSIGN_OR_RETURN(const size_t got,
                      file.Read(at, std::as_writable_bytes(std::span(text))));
  if (got != size) return DataLoss("it is cut short");
  return text;
}

}  // namespace

CacheFolder::CacheFolder(const std::string& path, std::string key,
                         std::shared_ptr<const ElementSpec> spec)
    : path_(fmt::format("{}/{}", path, key)),
      key_(std::move(key)),
      spec_(std::move(spec)) {}

absl::StatusOr<std::vector<CacheSegment>> CacheFolder::ReadFile(
    const std::string& name) const {
  const auto file = std::make_shared<CacheFile>(path_ + "/" + name);
  // The file is closed again: a folder may have more files than a process may
  // open.
  FM_ASSIGN_OR_RETURN(const auto opened, LocalFileSystem().Open(file->path()));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, opened->Identity());
  FM_ASSIGN_OR_RETURN(const std::string before, ReadText(*opened, 0, kHeadAt));
  if (!before.starts_with(kMagic) ||
      before.compare(kMagic.size(), kKeyBytes, key_) != 0) {
    return DataLoss("it is not a file of this cache");
  }
  HeadReader numbers(std::string_view(before).substr(kHeadAt - kNumbersBytes));
  const uint64_t size = numbers.Number();
  const uint64_t checksum = numbers.Number();
  if (identity.size < kHeadAt || size > identity.size - kHeadAt) {
    return DataLoss("its head is damaged");
  }
  FM_ASSIGN_OR_RETURN(const std::string head, ReadText(*opened, kHeadAt, size));
  if (XXH3_64bits(head.data(), head.size()) != checksum) {
    return DataLoss("its head is damaged");
  }
  return ReadHead(head, identity.size, file, spec_);
}

std::vector<CacheSegment> CacheFolder::ReadNew() {
  // Another process may have replaced damaged files that are open here.
  CacheFile::CloseAll(path_);
  const std::lock_guard lock(mutex_);
  std::vector<CacheSegment> all;
  utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);  // if it exists
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(path_, error), end; !error && at != end;
       at.increment(error)) {
    DropUnfinished(*at);
    if (at->path().extension() == kExtension) {
      names.push_back(at->path().filename());
    }
  }
  for (const std::string& name : names) {
    if (!read_.insert(name).second) continue;
    auto segments = ReadFile(name);
    if (segments.ok()) {
      for (CacheSegment& segment : *segments) all.push_back(std::move(segment));
      continue;
    }
    read_.erase(name);
    if (absl::IsNotFound(segments.status())) continue;  // deleted meanwhile
    const std::string path = path_ + "/" + name;
    if (absl::IsDataLoss(segments.status())) {
      Delete(path, segments.status());
    } else {
      Warn(path, ErrorText(segments.status()));
    }
  }
  return all;
}

absl::StatusOr<std::vector<CacheSegment>> CacheFolder::Write(
    const std::vector<CacheSegment>& segments) {
  const FileText text = TextOf(key_, segments);
  const XXH128_hash_t hash = XXH3_128bits(text.whole.data(), text.whole.size());
  const std::string name =
      fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, kExtension);
  const absl::Status written = WriteIntoFolder(path_, name, text.whole);
  if (!written.ok()) {
    return Unavailable("cannot write a cache in '{}': {}", path_,
                       ErrorText(written));
  }
  {
    const std::lock_guard lock(mutex_);
    read_.insert(name);
  }
  return ReadHead(text.head, text.whole.size(),
                  std::make_shared<CacheFile>(path_ + "/" + name), spec_);
}

bool CacheFolder::Drop(CacheFile& file, const absl::Status& why) {
  if (!file.Drop()) return false;
  if (!absl::IsNotFound(why)) {
    if (IsAtItsPath(file)) {
      Delete(file.path(), why);
    } else {
      Warn(file.path(), ErrorText(why) + "; another one replaces it");
    }
  }
  const std::lock_guard lock(mutex_);
  // Another process may write a file of that name again; ReadNew then reads it.
  read_.erase(fs::path(file.path()).filename());
  return true;
}

// Deletes the file, because every later process would find and report the
// damage again.
void CacheFolder::Delete(const std::string& path, const absl::Status& why) {
  std::error_code error;
  fs::remove(path, error);
  Warn(path, error ? fmt::format("{}; it cannot be deleted: {}", ErrorText(why),
                                 error.message())
                   : ErrorText(why) + "; it is deleted");
}

void CacheFolder::Warn(const std::string& path, const std::string& what) {
  uint64_t left_out = 0;
  {
    const std::lock_guard lock(warning_mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(now - counted_);
    if (seconds.count() > 0) {
      counted_ = now;
      warnings_left_ = static_cast<int>(
          std::min<int64_t>(kWarningsAtOnce, warnings_left_ + seconds.count()));
    }
    if (warnings_left_ == 0) {
      ++warnings_left_out_;
      return;
    }
    --warnings_left_;
    left_out = std::exchange(warnings_left_out_, 0);
  }
  std::string line = fmt::format(
      "feedmill: cache {}: {}; its elements are made again", path, what);
  if (left_out > 0) line += fmt::format(" (and {} more such lines)", left_out);
  line += '\n';
  std::fputs(line.c_str(), stderr);
}

}  // namespace feedmill

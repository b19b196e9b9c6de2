#include "core/pipeline/cache_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/base/status.h"
#include "core/sources/folder_file.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "feedmill cache 1";

// magic | key | size of the head | its checksum | head, padded | values
// The head says of each segment what it is of, and where the buffers of its
// columns lie.
constexpr size_t kHeadAt =
    kMagic.size() + CacheFolder::kKeyBytes + 2 * sizeof(uint64_t);
constexpr size_t kCachedRankMax = 64;

size_t Aligned(size_t at) {
  return (at + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

std::array<const Buffer*, 4> BuffersOf(const Column& column) {
  return {&column.values, &column.offsets, &column.row_shapes,
          &column.row_starts};
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

// Its text has a checksum; what it says is checked all the same.
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

void WriteSegment(const CacheSegment& segment, size_t begin, HeadWriter& head,
                  std::string& values) {
  head.Number(segment.block);
  head.Number(segment.first);
  head.Number(segment.count);
  head.Number(segment.more);
  head.Numbers(segment.positions);
  head.Number(segment.dropped);
  head.Numbers(segment.origins);
  head.Number(segment.chunk->rows);
  for (const Column& column : segment.chunk->columns) {
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
  head.Number(begin);
  head.Number(values.size());
  head.Number(XXH3_64bits(values.data() + begin, values.size() - begin));
}

std::string FileText(const std::string& key,
                     const std::vector<CacheSegment>& segments) {
  HeadWriter head;
  std::string values;
  head.Number(segments.size());
  for (const CacheSegment& segment : segments) {
    WriteSegment(segment, values.size(), head, values);
  }
  HeadWriter before;
  before.Number(head.text().size());
  before.Number(XXH3_64bits(head.text().data(), head.text().size()));
  std::string text = std::string(kMagic) + key + before.text() + head.text();
  text.resize(Aligned(text.size()));
  return text + values;
}

absl::Status ReadSegment(const std::shared_ptr<const ElementSpec>& spec,
                         const Buffer& values, HeadReader& head,
                         CacheSegment& segment) {
  segment.block = head.Number() != 0;
  segment.first = head.Number();
  segment.count = head.Number();
  segment.more = head.Number() != 0;
  segment.positions = head.Numbers<uint64_t>();
  segment.dropped = head.Number() != 0;
  segment.origins = head.Numbers<uint32_t>();
  auto chunk = std::make_shared<Chunk>();
  chunk->spec = spec;
  chunk->rows = head.Number();
  const auto within = [&](uint64_t at, uint64_t size) {
    return head.ok() && at <= values.size() && size <= values.size() - at;
  };
  for (const ComponentSpec& component : spec->components) {
    Column& column = chunk->columns.emplace_back();
    column.dtype = component.dtype;
    const auto shape = head.Numbers<int64_t>(kCachedRankMax);
    column.shape.assign(shape.begin(), shape.end());
    for (Buffer* const buffer : {&column.values, &column.offsets,
                                 &column.row_shapes, &column.row_starts}) {
      const uint64_t at = head.Number();
      const uint64_t size = head.Number();
      if (!within(at, size)) return DataLoss("a column is not in the file");
      if (size > 0) *buffer = values.Slice(at, size);
    }
  }
  const uint64_t begin = head.Number();
  const uint64_t end = head.Number();
  segment.checksum = head.Number();
  const size_t of = segment.block ? segment.count : segment.positions.size();
  const size_t rows = segment.dropped ? segment.origins.size() : of;
  if (!within(0, end) || begin > end || rows != chunk->rows ||
      (segment.block && segment.positions.size() != 1) ||
      (segment.dropped && rows > 0 && segment.origins.back() >= of)) {
    return DataLoss("its header contradicts itself");
  }
  segment.bytes = values.span().subspan(begin, end - begin);
  segment.chunk = std::move(chunk);
  return absl::OkStatus();
}

// The whole file, mapped: what is not looked at stays on disk.
absl::StatusOr<Buffer> Map(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Unavailable("{}", std::strerror(errno));
  struct stat stat {};
  void* bytes = MAP_FAILED;
  if (fstat(file, &stat) == 0 && stat.st_size > 0) {
    bytes = mmap(nullptr, static_cast<size_t>(stat.st_size), PROT_READ,
                 MAP_SHARED, file, 0);
  }
  const int why = errno;
  close(file);
  if (bytes == MAP_FAILED) {
    return Unavailable("{}",
                       stat.st_size > 0 ? std::strerror(why) : "it is empty");
  }
  const auto size = static_cast<size_t>(stat.st_size);
  std::shared_ptr<const void> owner(
      bytes, [size](void* mapped) { munmap(mapped, size); });
  return Buffer(std::move(owner), static_cast<const std::byte*>(bytes), size);
}

}  // namespace

CacheFolder::CacheFolder(const std::string& path, std::string key,
                         std::shared_ptr<const ElementSpec> spec)
    : path_(fmt::format("{}/{}", path, key)),
      key_(std::move(key)),
      spec_(std::move(spec)) {}

absl::StatusOr<std::vector<CacheSegment>> CacheFolder::ReadFile(
    const std::string& file) const {
  FM_ASSIGN_OR_RETURN(const Buffer whole, Map(path_ + "/" + file));
  const std::string_view text(reinterpret_cast<const char*>(whole.data()),
                              whole.size());
  if (text.size() < kHeadAt || !text.starts_with(kMagic) ||
      text.substr(kMagic.size(), kKeyBytes) != key_) {
    return DataLoss("it is not a file of this cache");
  }
  HeadReader before(text.substr(kMagic.size() + kKeyBytes));
  const uint64_t size = before.Number();
  const uint64_t checksum = before.Number();
  const std::string_view head_text = text.substr(kHeadAt).substr(0, size);
  if (head_text.size() < size || Aligned(kHeadAt + size) > text.size() ||
      XXH3_64bits(head_text.data(), head_text.size()) != checksum) {
    return DataLoss("its head is damaged");
  }
  const size_t begin = Aligned(kHeadAt + size);
  const Buffer values = whole.Slice(begin, whole.size() - begin);
  HeadReader head(head_text);
  std::vector<CacheSegment> segments;
  for (uint64_t left = head.Number(); left > 0; --left) {
    FM_RETURN_IF_ERROR(
        ReadSegment(spec_, values, head, segments.emplace_back()));
  }
  return segments;
}

std::vector<CacheSegment> CacheFolder::ReadNew() {
  const std::lock_guard lock(mutex_);
  std::vector<CacheSegment> all;
  utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);  // where it is there
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    DropUnfinished(*at);
    if (at->path().extension() != kExtension || !read_.insert(name).second) {
      continue;
    }
    auto segments = ReadFile(name);
    if (!segments.ok()) {
      WarnOfCache(at->path(), ErrorText(segments.status()));
      continue;
    }
    for (CacheSegment& segment : *segments) all.push_back(std::move(segment));
  }
  return all;
}

absl::StatusOr<std::vector<CacheSegment>> CacheFolder::Write(
    const std::vector<CacheSegment>& segments) {
  const std::string text = FileText(key_, segments);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  const std::string name =
      fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, kExtension);
  const absl::Status written = WriteIntoFolder(path_, name, text);
  if (!written.ok()) {
    return Unavailable("cannot write a cache in '{}': {}", path_,
                       ErrorText(written));
  }
  const std::lock_guard lock(mutex_);
  read_.insert(name);
  return ReadFile(name);
}

void WarnOfCache(const std::string& path, const std::string& what) {
  const std::string line = fmt::format(
      "feedmill: cache {}: {}; its elements are made again\n", path, what);
  std::fputs(line.c_str(), stderr);
}

bool IsSound(const CacheSegment& segment) {
  return XXH3_64bits(segment.bytes.data(), segment.bytes.size()) ==
             segment.checksum &&
         segment.chunk->Validate().ok();
}

}  // namespace feedmill

#include "core/io/index_folder.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/io/folder_file.h"
#include "core/io/local_files.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexMagic = "feedmill index 1";
constexpr std::string_view kExtension = ".index";

// Returns the identification of an index: finder, file and version. Its file
// begins with it.
std::string Subject(std::string_view finder, const std::string& file,
                    const FileIdentity& identity) {
  std::string out(kIndexMagic);
  out += finder;
  PutU64(out, identity.size);
  PutU64(out, static_cast<uint64_t>(identity.mtime_ns));
  PutU64(out, file.size());
  out += file;
  if (identity.etag.empty()) return out;
  PutU64(out, identity.etag.size());
  return out + identity.etag;
}

std::string NameOf(const std::string& subject) {
  const XXH128_hash_t hash = XXH3_128bits(subject.data(), subject.size());
  return fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, kExtension);
}

uint64_t ChecksumOf(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  FM_ASSIGN_OR_RETURN(const auto file, LocalFileSystem().Open(path));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  if (identity.size > IndexFolder::kFolderBytesMax) {
    return DataLoss("{}: no index is that large", path);
  }
  std::string text(identity.size, '\0');
  FM_ASSIGN_OR_RETURN(const size_t got,
                      file->Read(0, std::as_writable_bytes(std::span(text))));
  text.resize(got);
  return text;
}

}  // namespace

std::string IndexFolder::OfUser() {
  if (const char* folder = std::getenv("FEEDMILL_INDEXES")) return folder;
  if (const char* caches = std::getenv("XDG_CACHE_HOME");
      caches != nullptr && *caches == '/') {
    return std::string(caches) + "/feedmill/indexes";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return "";
  return std::string(home) + "/.cache/feedmill/indexes";
}

// magic and subject | offsets | checksum of all before
std::optional<RecordIndex> IndexFolder::Load(
    std::string_view finder, const std::string& file,
    const FileIdentity& identity) const {
  if (path_.empty() || identity.size < kFileBytesMin) return std::nullopt;
  const std::string subject = Subject(finder, file, identity);
  const auto read = ReadWhole(path_ + "/" + NameOf(subject));
  if (!read.ok()) return std::nullopt;
  std::string_view text = *read;
  uint64_t checksum = 0;
  if (text.size() < subject.size() + 2 * sizeof checksum ||
      text.substr(0, subject.size()) != subject) {
    return std::nullopt;
  }
  std::memcpy(&checksum, text.end() - sizeof checksum, sizeof checksum);
  text.remove_suffix(sizeof checksum);
  if (ChecksumOf(text) != checksum) return std::nullopt;
  text.remove_prefix(subject.size());
  RecordIndex index;
  index.offsets.resize(text.size() / sizeof(uint64_t));
  if (text.size() % sizeof(uint64_t) != 0) return std::nullopt;
  std::memcpy(index.offsets.data(), text.data(), text.size());
  if (!std::is_sorted(index.offsets.begin(), index.offsets.end()) ||
      index.offsets.back() != identity.size) {
    return std::nullopt;
  }
  return index;
}

absl::Status IndexFolder::Store(std::string_view finder,
                                const std::string& file,
                                const FileIdentity& identity,
                                const RecordIndex& index) const {
  if (path_.empty() || identity.size < kFileBytesMin) return absl::OkStatus();
  const std::string subject = Subject(finder, file, identity);
  std::string text = subject;
  text.append(reinterpret_cast<const char*>(index.offsets.data()),
              index.offsets.size() * sizeof(uint64_t));
  if (text.size() > kFolderBytesMax / 4) {
    return ResourceExhausted(
        "its index of {} bytes is not kept: one has {} at most", text.size(),
        kFolderBytesMax / 4);
  }
  PutU64(text, ChecksumOf(text));
  const absl::Status written = WriteIntoFolder(path_, NameOf(subject), text);
  if (!written.ok()) {
    return Unavailable("cannot keep its index in '{}': {}", path_,
                       ErrorText(written));
  }
  DropOldest();
  return absl::OkStatus();
}

void IndexFolder::DropOldest() const {
  struct Kept {
    fs::file_time_type time;
    uint64_t bytes;
    fs::path path;
  };
  std::error_code error;
  std::vector<Kept> all;
  uint64_t total = 0;
  for (fs::directory_iterator at(path_, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    const auto bytes = at->file_size(gone);
    const auto time = at->last_write_time(gone);
    if (gone) continue;
    const bool written = DropUnfinished(*at) == Unfinished::kBeingWritten;
    const bool whole = at->path().extension() == kExtension;
    if (written || whole) total += bytes;
    if (whole) all.push_back({time, bytes, at->path()});
  }
  if (total <= kFolderBytesMax) return;
  std::sort(all.begin(), all.end(),
            [](const Kept& a, const Kept& b) { return a.time < b.time; });
  for (const Kept& one : all) {
    if (total <= kFolderBytesMax) return;
    fs::remove(one.path, error);
    total -= one.bytes;
  }
}

}  // namespace feedmill

#include "core/io/block_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/folder_file.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr auto kPauseTime = std::chrono::seconds(10);
constexpr std::string_view kBlockEnd = ".block";
constexpr uint64_t kBlockMagic = 0x31424b4c424d4646;  // "FFMBLKB1"

// Header of a block file.
struct BlockHead {
  uint64_t magic = kBlockMagic;
  uint64_t size = 0;
  uint64_t checksum = 0;  // of the key and the bytes
};

uint64_t BlockChecksum(const std::string& key,
                       std::span<const std::byte> block) {
  const uint64_t seed = XXH3_64bits(key.data(), key.size());
  return XXH3_64bits_withSeed(block.data(), block.size(), seed);
}

// Closes a descriptor at the end of its scope.
class OpenDescriptor {
 public:
  explicit OpenDescriptor(int file) : file_(file) {}
  OpenDescriptor(const OpenDescriptor&) = delete;
  OpenDescriptor& operator=(const OpenDescriptor&) = delete;
  ~OpenDescriptor() {
    if (file_ >= 0) close(file_);
  }
  int get() const { return file_; }

 private:
  const int file_;
};

bool ReadAll(int file, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = read(file, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<size_t>(got));
  }
  return true;
}

// The number of bytes that all processes count together, in the file "bytes".
// Creates the folder for it. Holds the file's lock for its lifetime.
class SharedCount {
 public:
  explicit SharedCount(const std::string& folder)
      : file_(OpenIn(folder)),
        locked_(file_.get() >= 0 && flock(file_.get(), LOCK_EX) == 0) {
    uint64_t value = 0;
    if (locked_ && pread(file_.get(), &value, sizeof value, 0) ==
                       static_cast<ssize_t>(sizeof value)) {
      value_ = value;
    }
  }

  bool ok() const { return locked_; }  // else errno says why
  uint64_t value() const { return value_; }
  bool Set(uint64_t value) {
    return pwrite(file_.get(), &value, sizeof value, 0) ==
           static_cast<ssize_t>(sizeof value);
  }

 private:
  static int OpenIn(const std::string& folder) {
    const std::string path = folder + "/bytes";
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC;
    const int file = open(path.c_str(), kFlags, 0644);
    if (file >= 0 || errno != ENOENT) return file;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) errno = error.value();
    return error ? -1 : open(path.c_str(), kFlags, 0644);
  }

  const OpenDescriptor file_;
  const bool locked_;
  uint64_t value_ = 0;
};

struct KeptBlock {
  fs::file_time_type used;
  uint64_t bytes = 0;
  fs::path path;
};

// Returns the blocks of a folder. Removes unfinished files of killed writers.
std::vector<KeptBlock> BlocksIn(const std::string& folder) {
  std::vector<KeptBlock> blocks;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || gone) continue;
    if (at->path().extension() != kBlockEnd) {
      DropUnfinished(*at);
      continue;
    }
    const auto bytes = at->file_size(gone);
    const auto used = at->last_write_time(gone);
    if (!gone) blocks.push_back({used, bytes, at->path()});
  }
  return blocks;
}

}  // namespace

BlockFolder::BlockFolder(std::string path, uint64_t bytes_max, Log log)
    : path_(std::move(path)), bytes_max_(bytes_max), log_(std::move(log)) {}

std::string BlockFolder::KeyOf(std::string_view file,
                               const FileIdentity& identity, uint64_t block) {
  const std::string subject =
      fmt::format("{}\n{}\n{}\n{}\n{}", file, identity.etag, identity.size,
                  identity.mtime_ns, block);
  const XXH128_hash_t hash = XXH3_128bits(subject.data(), subject.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string BlockFolder::FileOf(const std::string& key) const {
  return fmt::format("{}/{}/{}{}", path_, key.substr(0, 2), key, kBlockEnd);
}

bool BlockFolder::Has(const std::string& key) const {
  return access(FileOf(key).c_str(), R_OK) == 0;
}

bool BlockFolder::Load(const std::string& key, std::span<std::byte> out) const {
  const std::string path = FileOf(key);
  const OpenDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return false;
  BlockHead head;
  std::byte more;
  const bool sound =
      ReadAll(file.get(), std::as_writable_bytes(std::span(&head, 1))) &&
      head.magic == kBlockMagic && head.size == out.size() &&
      ReadAll(file.get(), out) && !ReadAll(file.get(), {&more, 1}) &&
      head.checksum == BlockChecksum(key, out);
  if (sound) {
    futimens(file.get(), nullptr);  // marks it as used now
    return true;
  }
  struct stat stat {};
  const bool known = fstat(file.get(), &stat) == 0;
  if (unlink(path.c_str()) == 0 && known) {
    log_(fmt::format(
        "file cache: {} is damaged and was removed; its bytes are read from "
        "the store",
        path));
    GiveBack(static_cast<uint64_t>(stat.st_size));
  }
  return false;
}

// Reserves bytes for a write. False if there is no room. Unavailable with the
// system's reason if the folder cannot be written.
absl::StatusOr<bool> BlockFolder::Reserve(uint64_t bytes) const {
  SharedCount count(path_);
  if (!count.ok()) return Unavailable("{}", WriteErrorText(errno));
  uint64_t used = count.value();
  if (used > bytes_max_ || bytes > bytes_max_ - used) {
    used = MakeRoom(bytes, used);
    if (bytes > bytes_max_ - std::min(used, bytes_max_)) return false;
  }
  if (count.Set(used + bytes)) return true;
  return Unavailable("{}", WriteErrorText(errno));
}

void BlockFolder::GiveBack(uint64_t bytes) const {
  SharedCount count(path_);
  if (count.ok()) count.Set(count.value() - std::min(bytes, count.value()));
}

// Removes the least recently used blocks until, with `bytes`, at most 7/8 of
// bytes_max_ are in use. `counted`: the shared count. Returns its new value:
// the bytes of the blocks that stay, and those that other writers have reserved
// and not written. A writer that was killed leaves such bytes for ever; at most
// 1/8 of bytes_max_ is kept for them.
uint64_t BlockFolder::MakeRoom(uint64_t bytes, uint64_t counted) const {
  std::vector<KeptBlock> blocks = BlocksIn(path_);
  std::sort(
      blocks.begin(), blocks.end(),
      [](const KeptBlock& a, const KeptBlock& b) { return a.used < b.used; });
  uint64_t total = 0;
  for (const KeptBlock& block : blocks) total += block.bytes;
  const uint64_t reserved =
      std::min(counted - std::min(counted, total), bytes_max_ / 8);
  total += reserved;
  const uint64_t wanted = bytes_max_ - bytes_max_ / 8;
  for (const KeptBlock& block : blocks) {
    if (total + bytes <= wanted) break;
    std::error_code error;
    if (fs::remove(block.path, error)) total -= block.bytes;
  }
  return total;
}

bool BlockFolder::IsPaused() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::steady_clock::now() < paused_until_;
}

void BlockFolder::Pause(const std::string& why) const {
  {
    const std::lock_guard lock(mutex_);
    paused_until_ = std::chrono::steady_clock::now() + kPauseTime;
  }
  log_(fmt::format(
      "file cache: cannot keep blocks in {}: {}; files are read from the store",
      path_, why));
}

void BlockFolder::Store(const std::string& key,
                        std::span<const std::byte> block) const {
  if (IsPaused()) return;
  BlockHead head;
  head.size = block.size();
  head.checksum = BlockChecksum(key, block);
  std::string bytes(sizeof head + block.size(), '\0');
  if (bytes.size() > bytes_max_ / 8) return;
  const auto reserved = Reserve(bytes.size());
  if (!reserved.ok()) Pause(ErrorText(reserved.status()));
  if (!reserved.ok() || !*reserved) return;
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, block.data(), block.size());
  const fs::path path = FileOf(key);
  const absl::Status written = WriteIntoFolder(path.parent_path().string(),
                                               path.filename().string(), bytes);
  if (written.ok()) return;
  GiveBack(bytes.size());
  Pause(ErrorText(written));
}

}  // namespace feedmill

#include "core/io/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>

#include "core/base/status.h"

namespace feedmill {
namespace {

absl::Status ErrnoError(int error, const std::string& path,
                        std::string_view what) {
  const std::string reason = std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      return NotFound("{}: cannot {}: {}", path, what, reason);
    case EACCES:
    case EPERM:
    case EISDIR:
    case ELOOP:
      return FailedPrecondition("{}: cannot {}: {}", path, what, reason);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ResourceExhausted("{}: cannot {}: {} (see ulimit -n)", path, what,
                               reason);
    default:
      return Unavailable("{}: cannot {}: {}", path, what, reason);
  }
}

FileStat ToFileStat(const struct stat& st) {
  return {static_cast<uint64_t>(st.st_size),
          static_cast<int64_t>(st.st_mtim.tv_sec) * 1'000'000'000 +
              st.st_mtim.tv_nsec,
          S_ISDIR(st.st_mode)};
}

// A file that is opened again and again, because there are too many to keep all
// of them open, is asked less often, and not worth mapping.
constexpr int kAskedBeforeMapping = 64;
// Of all files. What it costs is a 512th of that in page tables, at most.
constexpr uint64_t kMappedBytesMax = uint64_t{32} << 30;
std::atomic<uint64_t> mapped_bytes = 0;

// A file's mapping, once it is worth one. Any thread.
class MappingIfWorthIt {
 public:
  MappingIfWorthIt() = default;
  MappingIfWorthIt(const MappingIfWorthIt&) = delete;
  MappingIfWorthIt& operator=(const MappingIfWorthIt&) = delete;
  ~MappingIfWorthIt() {
    if (owned_ != nullptr) mapped_bytes -= owned_->bytes().size();
  }

  const GuardedMapping* Get(int fd) {
    const GuardedMapping* mapping = mapping_.load(std::memory_order_acquire);
    if (mapping == nullptr &&
        asked_.load(std::memory_order_relaxed) <= kAskedBeforeMapping) {
      const std::lock_guard lock(mutex_);
      if (++asked_ == kAskedBeforeMapping) Map(fd);
      mapping = mapping_;
    }
    // What faulted once is all zeros.
    return mapping != nullptr && mapping->Sound() ? mapping : nullptr;
  }

 private:
  // Under mutex_. Without one, files are read all the same.
  void Map(int fd) {
    auto mapping = GuardedMapping::Of(fd);
    if (mapping == nullptr) return;
    const std::span<const std::byte> bytes = mapping->bytes();
    if (mapped_bytes.fetch_add(bytes.size()) + bytes.size() > kMappedBytesMax) {
      mapped_bytes -= bytes.size();
      return;
    }
    // What is not in memory is read as it would be by position.
    madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_RANDOM);
    owned_ = std::move(mapping);
    mapping_.store(owned_.get(), std::memory_order_release);
  }

  std::mutex mutex_;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<const GuardedMapping> owned_;
  std::atomic<const GuardedMapping*> mapping_ = nullptr;
};

class LocalFile final : public File {
 public:
  LocalFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;
  ~LocalFile() override { close(fd_); }

  absl::StatusOr<FileStat> Stat() const override {
    struct stat st;
    if (fstat(fd_, &st) != 0) return ErrnoError(errno, path_, "stat");
    return ToFileStat(st);
  }

  absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                std::span<std::byte> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = pread(fd_, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
      if (got < 0) {
        if (errno == EINTR) continue;
        return ErrnoError(errno, path_, "read");
      }
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  const GuardedMapping* Mapping() const override { return mapping_.Get(fd_); }

  void Prefetch(uint64_t offset, uint64_t size) const override {
    posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(size),
                  POSIX_FADV_WILLNEED);
  }

 private:
  const std::string path_;
  const int fd_;
  mutable MappingIfWorthIt mapping_;
};

class LocalFiles final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(
      const std::string& path) const override {
    int fd;
    do {
      // Without O_NONBLOCK a named pipe would wait for its writer.
      fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return ErrnoError(errno, path, "open");
    auto file = std::make_unique<LocalFile>(path, fd);
    struct stat st;
    if (fstat(fd, &st) != 0) return ErrnoError(errno, path, "stat");
    if (S_ISDIR(st.st_mode)) return ErrnoError(EISDIR, path, "read");
    if (!S_ISREG(st.st_mode)) {
      return FailedPrecondition(
          "{}: not a regular file: pipes and devices cannot be read by "
          "position",
          path);
    }
    return std::unique_ptr<File>(std::move(file));
  }

  absl::StatusOr<FileStat> Stat(const std::string& path) const override {
    struct stat st;
    if (stat(path.c_str(), &st) != 0) return ErrnoError(errno, path, "stat");
    return ToFileStat(st);
  }

  absl::StatusOr<std::vector<Entry>> List(
      const std::string& directory) const override {
    std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(directory.c_str()),
                                            closedir);
    if (dir == nullptr) return ErrnoError(errno, directory, "list");
    std::vector<Entry> entries;
    while (true) {
      errno = 0;
      const dirent* entry = readdir(dir.get());
      if (entry == nullptr) {
        if (errno != 0) return ErrnoError(errno, directory, "list");
        return entries;
      }
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      bool is_directory = entry->d_type == DT_DIR;
      if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
        struct stat st;
        if (fstatat(dirfd(dir.get()), name.c_str(), &st, 0) != 0) continue;
        is_directory = S_ISDIR(st.st_mode);
      }
      entries.push_back({name, is_directory});
    }
  }
};

}  // namespace

const FileSystem& LocalFileSystem() {
  static const LocalFiles files;
  return files;
}

}  // namespace feedmill

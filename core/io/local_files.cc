#include "core/io/local_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/read_stop.h"

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

FileIdentity IdentityOf(const struct stat& st) {
  return {static_cast<uint64_t>(st.st_size),
          static_cast<int64_t>(st.st_mtim.tv_sec) * 1'000'000'000 +
              st.st_mtim.tv_nsec};
}

// Returns the path of a name: the part after "file://", or the whole name.
absl::StatusOr<std::string> PathOf(const std::string& name) {
  constexpr std::string_view kScheme = "file://";
  if (!name.starts_with(kScheme)) return name;
  std::string path = name.substr(kScheme.size());
  if (path.starts_with('/')) return path;
  return InvalidArgument(
      "{}: names another machine; a file of this one is file:///PATH", name);
}

// Number of requests for a mapping before a file is mapped. If there are too
// many files to keep all open, a file is opened often and has few requests each
// time. Mapping such a file does not pay.
constexpr int kAskedBeforeMapping = 64;
// Most mapped bytes of all files. The page tables take at most 1/512 of them.
constexpr uint64_t kMappedBytesMax = uint64_t{32} << 30;
std::atomic<uint64_t> mapped_bytes = 0;

// Maps a file after kAskedBeforeMapping requests. Thread-safety: any thread.
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
    return Sound(mapping);
  }

  // Same, but maps at the first request.
  const GuardedMapping* GetNow(int fd) {
    const GuardedMapping* mapping = mapping_.load(std::memory_order_acquire);
    if (mapping == nullptr) {
      const std::lock_guard lock(mutex_);
      if (asked_ < kAskedBeforeMapping) {
        asked_ = kAskedBeforeMapping;
        Map(fd);
      }
      mapping = mapping_;
    }
    return Sound(mapping);
  }

 private:
  // After a fault, the whole mapping is zeros.
  static const GuardedMapping* Sound(const GuardedMapping* mapping) {
    return mapping != nullptr && mapping->Sound() ? mapping : nullptr;
  }

  // REQUIRES: mutex_ is held. Without a mapping, files are read by position.
  void Map(int fd) {
    auto mapping = GuardedMapping::Of(fd);
    if (mapping == nullptr) return;
    const std::span<const std::byte> bytes = mapping->bytes();
    if (mapped_bytes.fetch_add(bytes.size()) + bytes.size() > kMappedBytesMax) {
      mapped_bytes -= bytes.size();
      return;
    }
    // Turns off the kernel's read-around: a missing page is read as a read by
    // position would read it.
    madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_RANDOM);
    owned_ = std::move(mapping);
    mapping_.store(owned_.get(), std::memory_order_release);
  }

  std::mutex mutex_;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<const GuardedMapping> owned_;
  std::atomic<const GuardedMapping*> mapping_ = nullptr;
};

class LocalFile final : public RandomAccessFile {
 public:
  LocalFile(std::string name, int fd)
      : RandomAccessFile(std::move(name)), fd_(fd) {}
  ~LocalFile() override { close(fd_); }

  absl::StatusOr<FileIdentity> Identity() const override {
    struct stat st;
    if (fstat(fd_, &st) != 0) return ErrnoError(errno, name(), "stat");
    return IdentityOf(st);
  }

  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = pread(fd_, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
      if (got < 0) {
        if (errno == EINTR) continue;
        return ErrnoError(errno, name(), "read");
      }
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  const GuardedMapping* Mapping() const override { return mapping_.Get(fd_); }
  const GuardedMapping* MapNow() const override { return mapping_.GetNow(fd_); }

  void Prefetch(std::span<const ByteRange> ranges) const override {
    for (const ByteRange& range : ranges) {
      posix_fadvise(fd_, static_cast<off_t>(range.offset),
                    static_cast<off_t>(range.size), POSIX_FADV_WILLNEED);
    }
  }

 private:
  const int fd_;
  mutable MappingIfWorthIt mapping_;
};

// FailedPrecondition for a pipe, socket or device: its size is always 0.
absl::Status CheckKind(const std::string& name, const struct stat& st) {
  if (S_ISREG(st.st_mode)) return absl::OkStatus();
  return FailedPrecondition(
      "{}: not a regular file: pipes and devices cannot be read by position; "
      "copy the data into a file",
      name);
}

// Files of /proc and of some network file systems have bytes and the size 0.
absl::Status CheckEmpty(const LocalFile& file) {
  std::byte first;
  FM_ASSIGN_OR_RETURN(const size_t got, file.Read(0, {&first, 1}));
  if (got == 0) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(const FileIdentity now, file.Identity());
  if (now.size > 0) return absl::OkStatus();  // its writer has begun
  return FailedPrecondition(
      "{}: the file has bytes, but its file system says that its size is 0; "
      "copy it",
      file.name());
}

class LocalFiles final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    FM_ASSIGN_OR_RETURN(const std::string path, PathOf(name));
    int fd;
    do {
      // Without O_NONBLOCK a named pipe would wait for its writer.
      fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return ErrnoError(errno, name, "open");
    auto file = std::make_unique<LocalFile>(name, fd);
    struct stat st;
    if (fstat(fd, &st) != 0) return ErrnoError(errno, name, "stat");
    if (S_ISDIR(st.st_mode)) return ErrnoError(EISDIR, name, "read");
    FM_RETURN_IF_ERROR(CheckKind(name, st));
    if (st.st_size == 0) FM_RETURN_IF_ERROR(CheckEmpty(*file));
    return std::unique_ptr<RandomAccessFile>(std::move(file));
  }

  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    FM_ASSIGN_OR_RETURN(const std::string path, PathOf(name));
    struct stat st;
    if (stat(path.c_str(), &st) != 0) return ErrnoError(errno, name, "stat");
    if (S_ISDIR(st.st_mode)) return FileStat{IdentityOf(st), true};
    FM_RETURN_IF_ERROR(CheckKind(name, st));
    // Readers do not open an empty file.
    if (st.st_size == 0) FM_RETURN_IF_ERROR(Open(name).status());
    return FileStat{IdentityOf(st), false};
  }

  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override {
    FM_ASSIGN_OR_RETURN(const std::string path, PathOf(folder));
    std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
    if (dir == nullptr) return ErrnoError(errno, folder, "list");
    std::vector<Entry> entries;
    while (true) {
      errno = 0;
      const dirent* entry = readdir(dir.get());
      if (entry == nullptr) {
        if (errno != 0) return ErrnoError(errno, folder, "list");
        return entries;
      }
      FM_RETURN_IF_ERROR(ReadStop::Check(folder));
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      bool is_directory = entry->d_type == DT_DIR;
      if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
        struct stat st;
        if (fstatat(dirfd(dir.get()), name.c_str(), &st, 0) == 0) {
          is_directory = S_ISDIR(st.st_mode);
        } else if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) {
          continue;
        }
      }
      entries.push_back({name, is_directory});
    }
  }

  absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const override {
    FM_ASSIGN_OR_RETURN(std::string path, PathOf(pattern));
    if (!path.starts_with('/')) {
      std::error_code error;
      const auto here = std::filesystem::current_path(error);
      if (error) {
        return FailedPrecondition("{}: no current folder: {}", pattern,
                                  error.message());
      }
      path = (std::filesystem::path(EscapedPattern(here.string())) /
              std::filesystem::path(path))
                 .string();
    }
    return FileSystem::Glob(path);
  }
};

}  // namespace

const FileSystem& LocalFileSystem() {
  static const LocalFiles files;
  return files;
}

}  // namespace feedmill

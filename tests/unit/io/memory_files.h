#ifndef FEEDMILL_TESTS_UNIT_IO_MEMORY_FILES_H_
#define FEEDMILL_TESTS_UNIT_IO_MEMORY_FILES_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/file_system.h"

namespace feedmill {

// A file system in memory that behaves like an object store: names are URLs, an
// object's version is its etag, an open file reads one version only, and
// readers should announce ranges. Tests can make calls fail. Thread-safety: any
// thread.
class MemoryFiles final : public FileSystem {
 public:
  using FileSystem::Remove;
  using FileSystem::Write;

  // Numbers of calls since Reset().
  struct Calls {
    size_t opens = 0;        // of files with unknown identity
    size_t known_opens = 0;  // of files with known identity
    size_t stats = 0;
    size_t lists = 0;
    size_t reads = 0;
    size_t unannounced = 0;  // reads of bytes that no Prefetch announced
    size_t announced = 0;    // ranges of Prefetch
  };

  void Write(const std::string& name, std::string content) {
    const std::lock_guard lock(mutex_);
    objects_[name] = {std::make_shared<const std::string>(std::move(content)),
                      fmt::format("\"v{}\"", ++versions_)};
  }
  void Remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    objects_.erase(name);
  }

  // `fault` is called before each read, which fails with its result.
  void SetFault(
      std::function<absl::Status(const std::string& name, uint64_t at)> fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
  }
  // Makes reads of objects that end in `suffix` return fewer bytes.
  void SetMissing(std::string suffix, size_t bytes) {
    const std::lock_guard lock(mutex_);
    missing_suffix_ = std::move(suffix);
    missing_bytes_ = bytes;
  }
  void SetAhead(uint64_t bytes) { ahead_bytes_ = bytes; }

  Calls calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void Reset() {
    const std::lock_guard lock(mutex_);
    calls_ = {};
    fault_ = nullptr;
    missing_bytes_ = 0;
  }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    ++calls_.opens;
    FM_ASSIGN_OR_RETURN(const Object* const object, Find(name));
    return std::make_unique<File>(name, IdentityOf(*object), *this);
  }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override {
    const std::lock_guard lock(mutex_);
    ++calls_.known_opens;
    return std::make_unique<File>(name, known, *this);
  }

  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    ++calls_.stats;
    const auto object = objects_.find(name);
    if (object != objects_.end()) {
      return FileStat{IdentityOf(object->second), false};
    }
    const auto below = objects_.lower_bound(name + "/");
    if (below != objects_.end() && below->first.starts_with(name + "/")) {
      return FileStat{{}, true};
    }
    return NotFound("{}: there is no such object", name);
  }

  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override {
    const std::lock_guard lock(mutex_);
    ++calls_.lists;
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    std::vector<Entry> entries;
    std::set<std::string> folders;
    for (auto at = objects_.lower_bound(prefix);
         at != objects_.end() && at->first.starts_with(prefix); ++at) {
      const std::string rest = at->first.substr(prefix.size());
      const size_t slash = rest.find('/');
      if (slash == std::string::npos) {
        entries.push_back({rest, false, IdentityOf(at->second)});
      } else if (folders.insert(rest.substr(0, slash)).second) {
        entries.push_back({rest.substr(0, slash), true});
      }
    }
    return entries;
  }

 private:
  struct Object {
    std::shared_ptr<const std::string> content;
    std::string etag;
  };

  class File final : public RandomAccessFile {
   public:
    File(std::string name, FileIdentity identity, const MemoryFiles& files)
        : RandomAccessFile(std::move(name)),
          identity_(std::move(identity)),
          files_(files) {}

    absl::StatusOr<FileIdentity> Identity() const override { return identity_; }
    absl::StatusOr<size_t> Read(uint64_t offset,
                                std::span<std::byte> out) const override {
      const std::lock_guard lock(files_.mutex_);
      CountRead(offset, out.size());
      return files_.ReadObject(name(), identity_, offset, out);
    }
    void Prefetch(std::span<const ByteRange> ranges) const override {
      const std::lock_guard lock(files_.mutex_);
      announced_.insert(announced_.end(), ranges.begin(), ranges.end());
      files_.calls_.announced += ranges.size();
    }
    uint64_t ahead_bytes() const override { return files_.ahead_bytes_; }

   private:
    void CountRead(uint64_t offset, uint64_t size) const {
      ++files_.calls_.reads;
      const uint64_t end = std::min(offset + size, identity_.size);
      // Up to the end of the announced ranges.
      for (uint64_t at = offset; at < end;) {
        const auto range = std::find_if(
            announced_.begin(), announced_.end(), [at](const ByteRange& r) {
              return r.offset <= at && at < r.offset + r.size;
            });
        if (range == announced_.end()) {
          ++files_.calls_.unannounced;
          return;
        }
        at = range->offset + range->size;
      }
    }

    const FileIdentity identity_;
    const MemoryFiles& files_;
    mutable std::vector<ByteRange> announced_;  // guarded by files_.mutex_
  };

  static FileIdentity IdentityOf(const Object& object) {
    return {object.content->size(), 0, object.etag};
  }
  absl::StatusOr<const Object*> Find(const std::string& name) const {
    const auto object = objects_.find(name);
    if (object != objects_.end()) return &object->second;
    return NotFound("{}: there is no such object", name);
  }
  absl::StatusOr<size_t> ReadObject(const std::string& name,
                                    const FileIdentity& identity,
                                    uint64_t offset,
                                    std::span<std::byte> out) const {
    if (fault_ != nullptr) FM_RETURN_IF_ERROR(fault_(name, offset));
    FM_ASSIGN_OR_RETURN(const Object* const object, Find(name));
    if (IdentityOf(*object) != identity) {
      return FailedPrecondition("{}: changed since it was opened", name);
    }
    size_t size = object->content->size();
    if (name.ends_with(missing_suffix_)) size -= std::min(size, missing_bytes_);
    if (offset >= size) return size_t{0};
    const size_t got = std::min<size_t>(out.size(), size - offset);
    std::copy_n(
        reinterpret_cast<const std::byte*>(object->content->data()) + offset,
        got, out.data());
    return got;
  }

  mutable std::mutex mutex_;  // guards all but ahead_bytes_
  std::map<std::string, Object> objects_;
  int versions_ = 0;
  std::function<absl::Status(const std::string&, uint64_t)> fault_;
  std::string missing_suffix_;
  size_t missing_bytes_ = 0;
  mutable Calls calls_;
  uint64_t ahead_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_IO_MEMORY_FILES_H_

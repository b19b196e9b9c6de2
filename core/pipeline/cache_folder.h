#ifndef FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/chunk.h"

namespace feedmill {

// Rows that were made together, and of what.
struct CacheSegment {
  // Of a block (positions has it alone): its rows [first, first + count).
  bool block = false;
  uint64_t first = 0;
  uint64_t count = 0;
  bool more = false;  // the block goes on behind them
  // Else what these made, one element each at most.
  std::vector<uint64_t> positions;
  // The chunk's rows are of those of the count, or positions, that origins
  // names; else of all.
  bool dropped = false;
  std::vector<uint32_t> origins;
  std::shared_ptr<const Chunk> chunk;
  // In a file: the chunk's bytes, which may be damaged, and their XXH3-64.
  std::span<const std::byte> bytes{};
  uint64_t checksum = 0;
};

// What caches of one key keep on disk: files in a folder of that name, each
// written whole under another name and then given its own, which is a hash of
// it. Any number of processes may write and read at a time. Files are not
// changed, and may be deleted at any time.
//
// Thread-safety: any thread.
class CacheFolder {
 public:
  // A key's, which is also the name of its folder: hexadecimal digits.
  static constexpr size_t kKeyBytes = 32;
  static constexpr std::string_view kExtension = ".rows";
  // Bytes of values that go into one file.
  static constexpr size_t kFileBytes = size_t{8} << 20;

  CacheFolder(const std::string& path, std::string key,
              std::shared_ptr<const ElementSpec> spec);

  // What is in the files that are new since the last call. Those that are
  // damaged, or cannot be read, are left out and said to be so on stderr. Marks
  // the folder as used now (kept_caches.h).
  std::vector<CacheSegment> ReadNew();

  // Writes a file, and gives back the segments as they lie in it. Unavailable
  // where that is not possible.
  absl::StatusOr<std::vector<CacheSegment>> Write(
      const std::vector<CacheSegment>& segments);

  const std::string& path() const { return path_; }

 private:
  absl::StatusOr<std::vector<CacheSegment>> ReadFile(
      const std::string& file) const;

  const std::string path_;  // with the key
  const std::string key_;
  const std::shared_ptr<const ElementSpec> spec_;
  std::mutex mutex_;
  std::set<std::string> read_;  // files, by name
};

// Says on stderr what is wrong with a file or folder, and what that means.
void WarnOfCache(const std::string& path, const std::string& what);

// Whether a segment of a file is as it was written.
bool IsSound(const CacheSegment& segment);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_

#ifndef FEEDMILL_CORE_PIPELINE_CACHE_FILE_TEXT_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_FILE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/random_access_file.h"
#include "core/pipeline/stored_rows.h"
#include "feedmill/element.h"

// The bytes of the files of a cache.

namespace feedmill {

// Length of a cache's key, in hexadecimal digits.
inline constexpr size_t kCacheKeyBytes = 32;
// First bytes of each file. A cache of another format has another key.
inline constexpr std::string_view kCacheFormat = "feedmill cache 2";

// Rows that were made together, and the positions that made them.
struct CacheSegment {
  // True for rows [first, first + count) of one block; `positions` has only its
  // position.
  bool block = false;
  uint64_t first = 0;
  uint64_t count = 0;
  bool more = false;  // the block continues after these rows
  // If not a block: the positions that made the rows, at most one element each.
  std::vector<uint64_t> positions;
  // If true, chunk row r belongs to row or position number origins[r].
  // Otherwise no row was dropped.
  bool dropped = false;
  std::vector<uint32_t> origins;
  KeptRows rows;
};

// A file: `whole`, with a head that says what rows it has, and where.
struct CacheFileText {
  std::string head;
  std::string whole;
};

// Returns a file of the segments. REQUIRES: their rows are in memory.
CacheFileText CacheFileTextOf(const std::string& key,
                              const std::vector<CacheSegment>& segments);
// Returns the segments as stored in `file`, which has `size` bytes, from its
// head. DataLoss if the head is damaged.
absl::StatusOr<std::vector<CacheSegment>> ReadCacheHead(
    std::string_view text, uint64_t size,
    const std::shared_ptr<CacheFile>& file,
    const std::shared_ptr<const ElementSpec>& spec);
// Reads and checks the head of a file, which is `opened`.
absl::StatusOr<std::vector<CacheSegment>> ReadCacheFile(
    const RandomAccessFile& opened, const std::string& key,
    const std::shared_ptr<CacheFile>& file,
    const std::shared_ptr<const ElementSpec>& spec);

// Returns "HASH" + `extension`, with a hash of the contents.
std::string NameOfContents(std::string_view text, std::string_view extension);

// A file that a manifest of a cache in a store lists.
struct ListedCacheFile {
  std::string name;
  uint64_t size = 0;
  std::string head;
};
std::string CacheManifestText(const std::string& key,
                              const std::vector<ListedCacheFile>& files);
// DataLoss if the text is damaged.
absl::StatusOr<std::vector<ListedCacheFile>> ParseCacheManifest(
    std::string_view text, const std::string& key);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_FILE_TEXT_H_

#ifndef FEEDMILL_CORE_IO_BLOCK_FOLDER_H_
#define FEEDMILL_CORE_IO_BLOCK_FOLDER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/io/file_identity.h"

namespace feedmill {

// Keeps blocks of store files in a folder of this machine, one file for each
// block, for later reads and other processes. The folder is a cache: a damaged
// or unreadable block counts as missing, and a block that cannot be written is
// skipped.
//
// - All blocks together take at most `bytes_max`, for any number of processes.
//   The processes count the bytes together, in the file "bytes" of the folder.
//   If a new block does not fit, the least recently used blocks are removed.
// - The key of a block has its file's name and version, so that blocks of two
//   versions are never confused. A checksum guards its bytes.
// - After a failed write, no block is written for ten seconds.
//
// Thread-safety: any thread, any number of processes.
class BlockFolder {
 public:
  using Log = std::function<void(const std::string& line)>;

  // `log` receives one line for each fault of the folder.
  BlockFolder(std::string path, uint64_t bytes_max, Log log);
  BlockFolder(const BlockFolder&) = delete;
  BlockFolder& operator=(const BlockFolder&) = delete;

  // Returns the key of block number `block` of a file.
  static std::string KeyOf(std::string_view file, const FileIdentity& identity,
                           uint64_t block);

  // True if the folder has a file for the block. Its content is not checked.
  bool Has(const std::string& key) const;
  // Fills `out` with the whole block. False if the folder does not have it.
  bool Load(const std::string& key, std::span<std::byte> out) const;
  void Store(const std::string& key, std::span<const std::byte> block) const;

  uint64_t bytes_max() const { return bytes_max_; }

 private:
  std::string FileOf(const std::string& key) const;
  absl::StatusOr<bool> Reserve(uint64_t bytes) const;
  void GiveBack(uint64_t bytes) const;
  uint64_t MakeRoom(uint64_t bytes, uint64_t counted) const;
  bool IsPaused() const;
  void Pause(const std::string& why) const;

  const std::string path_;
  const uint64_t bytes_max_;
  const Log log_;

  mutable std::mutex mutex_;
  // Guarded by mutex_. No block is written before this time.
  mutable std::chrono::steady_clock::time_point paused_until_{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_BLOCK_FOLDER_H_

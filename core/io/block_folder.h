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

// Blocks of files of stores, kept in a folder of this machine for other reads
// and processes: a file of each block. A cache: a block that is damaged or that
// cannot be read is not there, and one that cannot be written is left out.
//
// - The blocks that are kept take at most `bytes_max`, whatever the number of
//   processes: they count them together, in the file "bytes" of the folder. If
//   there would be more, the ones that were used least recently go.
// - A block is found by its file's name and version, so that blocks of two
//   versions are never taken for each other, and is checked by a checksum.
// - After a block could not be written, none is written for ten seconds.
//
// Thread-safety: any thread, any number of processes.
class BlockFolder {
 public:
  using Log = std::function<void(const std::string& line)>;

  // `log` is told what is wrong with the folder.
  BlockFolder(std::string path, uint64_t bytes_max, Log log);
  BlockFolder(const BlockFolder&) = delete;
  BlockFolder& operator=(const BlockFolder&) = delete;

  // Where a block of a file is kept.
  static std::string KeyOf(std::string_view file, const FileIdentity& identity,
                           uint64_t block);

  // True if a block is there, as far as its file's name tells.
  bool Has(const std::string& key) const;
  // Fills `out` with all of a block. False if it is not there.
  bool Load(const std::string& key, std::span<std::byte> out) const;
  void Store(const std::string& key, std::span<const std::byte> block) const;

  uint64_t bytes_max() const { return bytes_max_; }

 private:
  std::string FileOf(const std::string& key) const;
  absl::StatusOr<bool> Reserve(uint64_t bytes) const;
  void GiveBack(uint64_t bytes) const;
  uint64_t MakeRoom(uint64_t bytes) const;
  bool IsPaused() const;
  void Pause(const std::string& why) const;

  const std::string path_;
  const uint64_t bytes_max_;
  const Log log_;

  mutable std::mutex mutex_;
  // Guarded by mutex_: blocks may be written again then.
  mutable std::chrono::steady_clock::time_point paused_until_{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_BLOCK_FOLDER_H_

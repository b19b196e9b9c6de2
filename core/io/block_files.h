#ifndef FEEDMILL_CORE_IO_BLOCK_FILES_H_
#define FEEDMILL_CORE_IO_BLOCK_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/block_folder.h"
#include "core/io/file_system.h"

namespace feedmill {

// Reads the files of a store through a folder of blocks on this machine
// (BlockFolder). Each block is fetched from the store once; then any process
// reads it from the folder. If a store's only sign of a file's version is its
// size, the file is read from the store. Thread-safety: any thread.
class BlockFiles final : public FileSystem {
 public:
  // Block size. A read of a few bytes fetches a whole block.
  static constexpr size_t kBlockBytes = size_t{256} << 10;

  BlockFiles(std::shared_ptr<const FileSystem> store,
             std::shared_ptr<const BlockFolder> folder)
      : store_(std::move(store)), folder_(std::move(folder)) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override;
  absl::StatusOr<FileStat> Stat(const std::string& name) const override;
  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override;
  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override;
  absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const override;
  std::vector<absl::StatusOr<std::vector<FoundFile>>> GlobAll(
      std::span<const std::string> patterns) const override;
  absl::StatusOr<std::string> FindOne(
      const std::string& pattern) const override;
  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override;
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override;
  absl::Status Remove(const std::string& name) const override;
  absl::Status RemoveFolder(const std::string& folder) const override;
  std::string NameIn(const std::string& folder,
                     std::string_view name) const override;

 private:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Cached(
      absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened) const;

  const std::shared_ptr<const FileSystem> store_;
  const std::shared_ptr<const BlockFolder> folder_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_BLOCK_FILES_H_

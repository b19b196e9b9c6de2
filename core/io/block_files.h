#ifndef FEEDMILL_CORE_IO_BLOCK_FILES_H_
#define FEEDMILL_CORE_IO_BLOCK_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/io/block_folder.h"
#include "core/io/forwarding_files.h"

namespace feedmill {

// Reads the files of a store through a folder of blocks on this machine
// (BlockFolder). Each block is fetched from the store once; then any process
// reads it from the folder. If a store's only sign of a file's version is its
// size, the file is read from the store. Thread-safety: any thread.
class BlockFiles final : public ForwardingFiles {
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

 private:
  absl::StatusOr<const FileSystem*> Target(
      const std::string& /*name*/) const override {
    return store_.get();
  }
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Cached(
      absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened) const;

  const std::shared_ptr<const FileSystem> store_;
  const std::shared_ptr<const BlockFolder> folder_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_BLOCK_FILES_H_

#include "core/io/unchanged_file.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

class UnchangedFile final : public RandomAccessFile {
 public:
  UnchangedFile(std::unique_ptr<RandomAccessFile> file, FileIdentity identity)
      : RandomAccessFile(file->name()),
        file_(std::move(file)),
        identity_(std::move(identity)) {}

  absl::StatusOr<FileIdentity> Identity() const override { return identity_; }

  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override {
    FM_ASSIGN_OR_RETURN(const size_t got, file_->Read(offset, out));
    FM_ASSIGN_OR_RETURN(const FileIdentity now, file_->Identity());
    const uint64_t left = identity_.size - std::min(offset, identity_.size);
    if (now == identity_ && got == std::min<uint64_t>(left, out.size())) {
      return got;
    }
    return FailedPrecondition(
        "{}: changed while it was read; read it again when its writer has "
        "finished",
        name());
  }

  void Prefetch(std::span<const ByteRange> ranges) const override {
    file_->Prefetch(ranges);
  }
  uint64_t ahead_bytes() const override { return file_->ahead_bytes(); }

 private:
  const std::unique_ptr<RandomAccessFile> file_;
  const FileIdentity identity_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RequireUnchanged(
    std::unique_ptr<RandomAccessFile> file) {
  FM_ASSIGN_OR_RETURN(FileIdentity identity, file->Identity());
  return std::make_unique<UnchangedFile>(std::move(file), std::move(identity));
}

}  // namespace feedmill

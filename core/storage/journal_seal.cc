#include "core/storage/journal_seal.h"

#include <fcntl.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/status.h"
#include "core/process/write_error.h"
#include "core/storage/folder_lock.h"

namespace feedmill {
namespace {

constexpr uint64_t kMagic = 0x314c414553'4d46;  // "FMSEAL1"
constexpr size_t kCopies = 2;
constexpr off_t kCopyDistance = 4'096;  // each copy in a block of its own

// A copy as stored. Its layout is part of the file format.
struct Copy {
  uint64_t magic = kMagic;
  uint64_t journal = 0;
  uint64_t sequence = 0;
  ChainChecksum chain{};
  uint64_t checksum = 0;

  uint64_t Checksum() const {
    return XXH3_64bits(this, offsetof(Copy, checksum));
  }
};
static_assert(sizeof(Copy) == 48);

off_t OffsetOf(size_t copy) { return static_cast<off_t>(copy) * kCopyDistance; }

}  // namespace

absl::StatusOr<std::unique_ptr<JournalSeal>> JournalSeal::Open(
    std::string path) {
  std::unique_ptr<JournalSeal> seal(new JournalSeal(std::move(path)));
  seal->file_ = OpenPrivate(seal->path_, 0);
  if (seal->file_ < 0) {
    if (errno == ENOENT) return seal;
    return Unavailable("cannot open '{}': {}", seal->path_,
                       std::strerror(errno));
  }
  FM_RETURN_IF_ERROR(seal->Read());
  return seal;
}

JournalSeal::~JournalSeal() {
  if (file_ >= 0) close(file_);
}

absl::Status JournalSeal::Read() {
  for (size_t index = 0; index < kCopies; ++index) {
    Copy copy;
    if (pread(file_, &copy, sizeof(copy), OffsetOf(index)) != sizeof(copy) ||
        copy.magic != kMagic || copy.checksum != copy.Checksum()) {
      continue;
    }
    if (mark_ && mark_->sequence >= copy.sequence) continue;
    mark_ = Mark{copy.journal, copy.sequence, copy.chain};
    next_copy_ = (index + 1) % kCopies;
  }
  if (mark_) return absl::OkStatus();
  return DataLoss("'{}', which says how far the journal had come, is damaged",
                  path_);
}

absl::Status JournalSeal::Create(const Mark& mark) {
  file_ = OpenPrivate(path_, O_CREAT | O_TRUNC);
  if (file_ < 0) {
    return Unavailable("cannot make '{}': {}", path_, std::strerror(errno));
  }
  FM_RETURN_IF_ERROR(Write(mark));
  if (fsync(file_) != 0) {
    return Unavailable("cannot sync '{}': {}", path_, std::strerror(errno));
  }
  return SyncPath(std::filesystem::path(path_).parent_path().string());
}

absl::Status JournalSeal::Write(const Mark& mark) {
  Copy copy;
  copy.journal = mark.journal;
  copy.sequence = mark.sequence;
  copy.chain = mark.chain;
  copy.checksum = copy.Checksum();
  if (pwrite(file_, &copy, sizeof(copy), OffsetOf(next_copy_)) !=
      sizeof(copy)) {
    return Unavailable("cannot write '{}': {}", path_, WriteErrorText(errno));
  }
  next_copy_ = (next_copy_ + 1) % kCopies;
  mark_ = mark;
  return absl::OkStatus();
}

absl::Status SyncPath(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (synced) return absl::OkStatus();
  return Unavailable("cannot sync '{}': {}", path, std::strerror(error));
}

}  // namespace feedmill

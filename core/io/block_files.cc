#include "core/io/block_files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kBlockSize = BlockFiles::kBlockBytes;

// The most recently read blocks of a file: readers take a block in parts.
class RecentBlocks {
 public:
  using Block = std::shared_ptr<const std::vector<std::byte>>;

  Block Find(uint64_t number) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [own, block] : blocks_) {
      if (own == number && block != nullptr) return block;
    }
    return nullptr;
  }
  void Put(uint64_t number, Block block) {
    const std::lock_guard lock(mutex_);
    blocks_[next_++ % blocks_.size()] = {number, std::move(block)};
  }

 private:
  mutable std::mutex mutex_;
  std::array<std::pair<uint64_t, Block>, 4> blocks_;
  size_t next_ = 0;
};

class BlockFile final : public RandomAccessFile {
 public:
  BlockFile(std::unique_ptr<RandomAccessFile> stored, FileIdentity identity,
            std::shared_ptr<const BlockFolder> folder)
      : RandomAccessFile(stored->name()),
        stored_(std::move(stored)),
        identity_(std::move(identity)),
        folder_(std::move(folder)) {}

  absl::StatusOr<FileIdentity> Identity() const override { return identity_; }

  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override {
    if (offset >= identity_.size) return size_t{0};
    const auto size = static_cast<size_t>(
        std::min<uint64_t>(out.size(), identity_.size - offset));
    size_t done = 0;
    while (done < size) {
      const uint64_t at = offset + done;
      const auto within = static_cast<size_t>(at % kBlockSize);
      FM_ASSIGN_OR_RETURN(const RecentBlocks::Block block,
                          BlockOf(at / kBlockSize));
      const size_t count = std::min(size - done, block->size() - within);
      std::memcpy(out.data() + done, block->data() + within, count);
      done += count;
    }
    return done;
  }

  // Announces the blocks that must be fetched.
  void Prefetch(std::span<const ByteRange> ranges) const override {
    std::vector<ByteRange> missing;
    uint64_t next = 0;  // block after the last one checked
    for (const ByteRange& range : ranges) {
      if (range.size == 0 || range.offset >= identity_.size) continue;
      const uint64_t end = std::min(range.size, identity_.size - range.offset);
      const uint64_t last = (range.offset + end - 1) / kBlockSize;
      for (uint64_t b = std::max(next, range.offset / kBlockSize); b <= last;
           ++b) {
        if (!folder_->Has(KeyOf(b))) missing.push_back(PlaceOf(b));
      }
      if (range.offset / kBlockSize <= last) next = last + 1;
    }
    if (!missing.empty()) stored_->Prefetch(missing);
  }

  uint64_t ahead_bytes() const override { return stored_->ahead_bytes(); }

 private:
  std::string KeyOf(uint64_t block) const {
    return BlockFolder::KeyOf(name(), identity_, block);
  }
  ByteRange PlaceOf(uint64_t block) const {
    const uint64_t begin = block * kBlockSize;
    return {begin, std::min<uint64_t>(kBlockSize, identity_.size - begin)};
  }

  absl::StatusOr<RecentBlocks::Block> BlockOf(uint64_t number) const {
    if (auto block = recent_.Find(number)) return block;
    const ByteRange place = PlaceOf(number);
    auto bytes = std::make_shared<std::vector<std::byte>>(place.size);
    const std::string key = KeyOf(number);
    if (!folder_->Load(key, *bytes)) {
      FM_ASSIGN_OR_RETURN(const size_t got,
                          stored_->Read(place.offset, *bytes));
      if (got < bytes->size()) {
        return FailedPrecondition(
            "{}: changed since the job began: it ends at byte {} now", name(),
            place.offset + got);
      }
      // A block counts only if it is of the version that its reader knows.
      FM_ASSIGN_OR_RETURN(const FileIdentity now, stored_->Identity());
      if (now == identity_) folder_->Store(key, *bytes);
    }
    recent_.Put(number, bytes);
    return bytes;
  }

  const std::unique_ptr<RandomAccessFile> stored_;
  const FileIdentity identity_;
  const std::shared_ptr<const BlockFolder> folder_;
  mutable RecentBlocks recent_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RandomAccessFile>> BlockFiles::Cached(
    absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened) const {
  FM_RETURN_IF_ERROR(opened.status());
  auto identity = (*opened)->Identity();
  if (!identity.ok() || KnowsSizeOnly(*identity)) return opened;
  return std::make_unique<BlockFile>(*std::move(opened), *std::move(identity),
                                     folder_);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> BlockFiles::Open(
    const std::string& name) const {
  return Cached(store_->Open(name));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> BlockFiles::OpenKnown(
    const std::string& name, const FileIdentity& known) const {
  return Cached(store_->OpenKnown(name, known));
}

}  // namespace feedmill

#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_FILE_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_FILE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "core/io/random_access_file.h"
#include "plugins/arrow/cloud_fetches.h"

namespace feedmill {

// An open object of a store that Arrow reads.
class CloudFile final : public RandomAccessFile {
 public:
  explicit CloudFile(std::shared_ptr<CloudObject> object);
  ~CloudFile() override;

  absl::StatusOr<FileIdentity> Identity() const override {
    return object_->identity();
  }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override;
  void Prefetch(std::span<const ByteRange> ranges) const override;
  uint64_t ahead_bytes() const override;

 private:
  struct Piece {
    uint64_t size = 0;
    uint64_t read = 0;
    std::shared_ptr<Fetch> fetch;
  };
  // A part of a read: from a piece, or fetched separately.
  struct Part {
    ByteRange range;    // of the fetch
    uint64_t skip = 0;  // bytes of the fetch before the part
    std::span<std::byte> out{};
    std::shared_ptr<Fetch> fetch;
    bool is_piece = false;
  };

  std::vector<Part> PartsOf(uint64_t offset, std::span<std::byte> out) const;
  void AddDirect(uint64_t offset, std::span<std::byte> out,
                 std::vector<Part>& parts) const;
  void CountRead(const Part& part, bool failed) const;
  void Drop(std::map<uint64_t, Piece>::iterator piece) const;
  void DropRead() const;
  void AddPieces(const ByteRange& range) const;

  const std::shared_ptr<CloudObject> object_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  mutable std::map<uint64_t, Piece> pieces_;  // by offset; none overlap
  // Pieces that were read completely, oldest first.
  mutable std::deque<uint64_t> done_;
  mutable uint64_t done_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_FILE_H_

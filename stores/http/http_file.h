#ifndef FEEDMILL_STORES_HTTP_HTTP_FILE_H_
#define FEEDMILL_STORES_HTTP_HTTP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/chunk/piece.h"
#include "core/io/random_access_file.h"
#include "core/io/range_plan.h"
#include "stores/http/http_store.h"
#include "stores/http/read_rate.h"

namespace feedmill {

// An open file behind a URL. Reads one version only: each request names the
// version.
class HttpFile final : public RandomAccessFile {
 public:
  // `found`: the version to read, and bytes of it that are there already.
  HttpFile(RemoteFile file, HttpStore::ProbeResult found,
           std::shared_ptr<HttpStore> store);
  ~HttpFile() override;

  absl::StatusOr<FileIdentity> Identity() const override { return identity_; }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override;
  void Prefetch(std::span<const ByteRange> ranges) const override;
  uint64_t ahead_bytes() const override { return store_->options.ahead_bytes; }

  // Drops pieces that were read, and prefetched pieces that were neither
  // announced nor read since `before`. Returns their size; the caller returns
  // it to the store.
  uint64_t DropUnneeded(absl::Time before) const;

 private:
  // Prefetched bytes.
  struct Piece {
    std::shared_ptr<Transfer> transfer;
    uint64_t size = 0;
    uint64_t read = 0;  // bytes read so far
    bool done = false;  // read completely
    absl::Time used{};  // time it was last announced or read
  };
  // A part of a read and its transfer.
  struct Part {
    std::shared_ptr<Transfer> transfer;
    uint64_t skip = 0;  // bytes of the transfer before the part
    std::span<std::byte> out{};
    // Key in pieces_; absent: the transfer writes to `out`.
    std::optional<uint64_t> piece{};
  };

  std::vector<Part> PartsOf(uint64_t offset, std::span<std::byte> out) const;
  void AddDirect(uint64_t offset, std::span<std::byte> out,
                 std::vector<Part>& parts) const;
  absl::Status TakeParts(std::span<const Part> parts) const;
  absl::Status TakePart(const Part& part) const;
  absl::Status CheckSeen(const FileIdentity& seen) const;
  void CountRead(uint64_t piece, uint64_t bytes) const;
  void DropPiece(uint64_t piece) const;
  uint64_t DropOldestDone() const;
  uint64_t RunAheadBytes() const;
  uint64_t RunGrowth() const;
  uint64_t RunRequestBytes(uint64_t ahead) const;
  std::vector<ByteRange> MissingAhead(const ByteRange& further,
                                      uint64_t request_bytes) const;
  void Begin(std::span<const ByteRange> ranges, uint64_t request_bytes,
             absl::Time now,
             std::vector<std::shared_ptr<Transfer>>& begun) const;
  // Appends the parts of a range that no piece has.
  void AddMissing(const ByteRange& range,
                  std::vector<ByteRange>& missing) const;
  absl::StatusOr<size_t> ReadFromWhole(uint64_t offset,
                                       std::span<std::byte> out) const;

  const RemoteFile file_;
  const FileIdentity identity_;
  const std::string first_;  // the first bytes, as far as they are known
  const std::shared_ptr<HttpStore> store_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  mutable std::map<uint64_t, Piece> pieces_;  // by offset; none overlap
  // Pieces that were read completely, oldest first. Kept for a while, because
  // the next block's reader begins with the last bytes of this block.
  mutable std::deque<uint64_t> done_;
  mutable uint64_t done_bytes_ = 0;
  mutable SequentialRun run_;
  mutable ReadRate rate_;  // of announced ranges
  mutable bool has_ranges_ = true;
  mutable std::optional<FileIdentity> seen_;
  mutable std::weak_ptr<const WholeFile> whole_;

  mutable std::mutex whole_mutex_;  // held while a thread reads the whole file
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_FILE_H_

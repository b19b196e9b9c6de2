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

namespace feedmill {

// An open file behind a URL. Reads one version only: each request names it.
class HttpFile final : public RandomAccessFile {
 public:
  // `whole`: its bytes, if the server has no ranges and they were read; else
  // null.
  HttpFile(RemoteFile file, FileIdentity identity,
           std::shared_ptr<const WholeFile> whole,
           std::shared_ptr<HttpStore> store);
  ~HttpFile() override;

  absl::StatusOr<FileIdentity> Identity() const override { return identity_; }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override;
  void Prefetch(std::span<const ByteRange> ranges) const override;
  uint64_t ahead_bytes() const override { return store_->options.ahead_bytes; }

  // Drops pieces that were read, and those that were fetched but neither
  // announced nor read since `before`. Returns their bytes; the caller gives
  // them back to the store.
  uint64_t DropUnneeded(absl::Time before) const;

 private:
  // Bytes that are fetched ahead.
  struct Piece {
    std::shared_ptr<Transfer> transfer;
    uint64_t size = 0;
    uint64_t read = 0;  // bytes that readers took
    bool done = false;  // read as a whole
    absl::Time used{};  // announced or read last
  };
  // A part of a read, and the transfer that has it.
  struct Part {
    std::shared_ptr<Transfer> transfer;
    uint64_t skip = 0;  // bytes of the transfer before the part
    std::span<std::byte> out{};
    // Key in pieces_; none: the transfer writes to `out`.
    std::optional<uint64_t> piece{};
  };

  std::vector<Part> PartsOf(uint64_t offset, std::span<std::byte> out) const;
  void AddDirect(uint64_t offset, std::span<std::byte> out,
                 std::vector<Part>& parts) const;
  absl::Status TakeParts(std::span<const Part> parts) const;
  absl::Status TakePart(const Part& part) const;
  absl::Status CheckSeen(const Transfer& transfer) const;
  void CountRead(uint64_t piece, uint64_t bytes) const;
  void DropPiece(uint64_t piece) const;
  uint64_t DropOldestDone() const;
  // Appends the parts of a range that no piece has.
  void AddMissing(const ByteRange& range,
                  std::vector<ByteRange>& missing) const;
  absl::StatusOr<size_t> ReadFromWhole(uint64_t offset,
                                       std::span<std::byte> out) const;

  const RemoteFile file_;
  const FileIdentity identity_;
  const std::shared_ptr<HttpStore> store_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  mutable std::map<uint64_t, Piece> pieces_;  // by offset; none overlap
  // Pieces that were read, the oldest first. They stay for a while: the reader
  // of the next block begins with the last bytes of this one.
  mutable std::deque<uint64_t> done_;
  mutable uint64_t done_bytes_ = 0;
  mutable SequentialRun run_;
  mutable bool has_ranges_ = true;
  mutable std::optional<FileIdentity> seen_;
  mutable std::weak_ptr<const WholeFile> whole_;

  mutable std::mutex whole_mutex_;  // held while a thread reads it whole
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_FILE_H_

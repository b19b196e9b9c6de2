#ifndef FEEDMILL_WORKER_UNSENT_PIECES_H_
#define FEEDMILL_WORKER_UNSENT_PIECES_H_

#include <cstdint>
#include <map>
#include <memory>

#include "core/wire/message.h"
#include "worker/shared_results.h"

namespace feedmill {

// The pieces that were given to the transport and have not left the process.
// They count in the worker's memory like pieces that were not sent. A client
// that reads nothing fills a part of the memory only: it may have as many bytes
// waiting as remain free, half of those that other clients leave. Pure.
class UnsentPieces {
 public:
  // `memory_bytes`: of the worker.
  explicit UnsentPieces(uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}
  UnsentPieces(const UnsentPieces&) = delete;
  UnsentPieces& operator=(const UnsentPieces&) = delete;

  // True if a piece of `bytes` may be sent to the client now. A client for
  // which nothing waits may have any piece.
  bool MayAdd(const PeerId& client, uint64_t bytes) const;
  // Counts the piece until the result is dropped. Null for a piece without
  // elements. This object must outlive the result.
  std::shared_ptr<const void> Add(const PeerId& client, BufferedPiecePtr piece);
  bool Has(const PeerId& client) const { return by_client_.contains(client); }

  // A stream waits until a piece has left the process, if any is to.
  void NoteAwaited() { awaited_ = !by_client_.empty(); }
  void ClearAwaited() { awaited_ = false; }
  bool awaited() const { return awaited_; }

 private:
  void Remove(const PeerId& client, uint64_t bytes);

  const uint64_t memory_bytes_;
  uint64_t bytes_ = 0;
  std::map<PeerId, uint64_t> by_client_;
  bool awaited_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_UNSENT_PIECES_H_

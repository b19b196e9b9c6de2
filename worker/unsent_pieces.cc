#include "worker/unsent_pieces.h"

#include <algorithm>
#include <utility>

namespace feedmill {
bool UnsentPieces::MayAdd(const PeerId& client, uint64_t bytes) const {
  const auto found = by_client_.find(client);
  if (found == by_client_.end()) return true;
  return found->second + bytes <=
         memory_bytes_ - std::min(bytes_ + bytes, memory_bytes_);
}

std::shared_ptr<const void> UnsentPieces::Add(const PeerId& client,
                                              BufferedPiecePtr piece) {
  const uint64_t bytes = piece->bytes;
  if (bytes == 0) return nullptr;
  by_client_[client] += bytes;
  bytes_ += bytes;
  const void* const key = piece.get();
  return {key,
          [this, client, bytes, piece = std::move(piece)](const void*) mutable {
            Remove(client, bytes);
            piece.reset();
          }};
}

void UnsentPieces::Remove(const PeerId& client, uint64_t bytes) {
  const auto found = by_client_.find(client);
  found->second -= bytes;
  bytes_ -= bytes;
  if (found->second == 0) by_client_.erase(found);
}

}  // namespace feedmill

#include "core/net/unsent_bytes.h"

#include <algorithm>

namespace feedmill {

std::shared_ptr<const void> UnsentBytes::Take(std::string_view peer,
                                              uint64_t bytes) {
  auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) {
    found = by_peer_.emplace(peer, std::make_shared<std::atomic<uint64_t>>(0))
                .first;
  }
  const Counter& own = found->second;
  const uint64_t waiting = all_->load();
  const uint64_t free = bytes_max_ - std::min(waiting + bytes, bytes_max_);
  const uint64_t after = own->load() + bytes;
  if (waiting > 0 && after > free && after > kSmallBytes) return nullptr;
  own->fetch_add(bytes);
  all_->fetch_add(bytes);
  return std::shared_ptr<const void>(
      own.get(), [own = own, all = all_, bytes](const void*) {
        own->fetch_sub(bytes);
        all->fetch_sub(bytes);
      });
}

void UnsentBytes::Forget(std::string_view peer) {
  const auto found = by_peer_.find(peer);
  if (found != by_peer_.end()) by_peer_.erase(found);
}

}  // namespace feedmill

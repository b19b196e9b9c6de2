#ifndef FEEDMILL_CORE_NET_SHARED_MEMORY_LEASE_H_
#define FEEDMILL_CORE_NET_SHARED_MEMORY_LEASE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/net/part_table.h"
#include "core/net/shared_arena.h"
#include "core/net/shared_file.h"
#include "core/wire/shared_parts.h"

namespace feedmill {

// The worker's end of a link: the parts of the arena that one client may read.
// Each lent part has an entry. The part is kept until the entry is returned or
// lost, or the link ends.
//
// Thread: the reactor's.
class SharedMemoryLease : public PartLender {
 public:
  // Lends at most `bytes_max` at the same time.
  static absl::StatusOr<std::unique_ptr<SharedMemoryLease>> Make(
      uint64_t link, std::shared_ptr<SharedArena> arena, uint64_t bytes_max);

  uint64_t link() const { return link_; }
  uint64_t lent_bytes() const { return lent_bytes_; }
  LinkTerms terms() const;
  // Sequence number of the last message with lent parts; 0 if there was none.
  uint64_t sequence() const { return sequence_; }
  // True if the client has announced that no more frames may use this link.
  bool retired() const;
  // Descriptors to pass to the client, in this order: arena, part table.
  std::vector<int> fds() const { return {arena_->fd(), part_table_fd_.get()}; }

  // Lends large parts inside the arena, as far as entries and bytes allow.
  SharedParts Lend(std::span<const Buffer> parts) override;
  // Reclaims parts that the client returned or never received.
  void Reap();

 private:
  struct Lent {
    Buffer part;
    uint64_t sequence = 0;
  };

  SharedMemoryLease(uint64_t link, std::shared_ptr<SharedArena> arena,
                    uint64_t bytes_max, OwnedFd part_table_fd,
                    Mapping part_table);
  PartTable& part_table() const {
    return *reinterpret_cast<PartTable*>(part_table_.data());
  }

  const uint64_t link_;
  const std::shared_ptr<SharedArena> arena_;
  const uint64_t bytes_max_;
  const OwnedFd part_table_fd_;
  const Mapping part_table_;
  std::vector<Lent> lent_;        // by entry
  std::vector<uint32_t> free_;    // entries, the last one first
  std::vector<uint32_t> in_use_;  // entries
  uint64_t lent_bytes_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_MEMORY_LEASE_H_

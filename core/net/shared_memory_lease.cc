#include "core/net/shared_memory_lease.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/status.h"

namespace feedmill {

absl::StatusOr<std::unique_ptr<SharedMemoryLease>> SharedMemoryLease::Make(
    uint64_t link, std::shared_ptr<SharedArena> arena, uint64_t bytes_max) {
  FM_ASSIGN_OR_RETURN(const int file,
                      MakeSharedFile("feedmill-tickets", sizeof(SlotTable)));
  OwnedFd fd(file);
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0) {
    return ResourceExhausted("cannot seal shared memory: {}",
                             std::strerror(errno));
  }
  FM_ASSIGN_OR_RETURN(Mapping slot_table,
                      Mapping::Of(fd.get(), sizeof(SlotTable),
                                  /*writable=*/true));
  return std::unique_ptr<SharedMemoryLease>(new SharedMemoryLease(
      link, std::move(arena), bytes_max, std::move(fd), std::move(slot_table)));
}

SharedMemoryLease::SharedMemoryLease(uint64_t link,
                                     std::shared_ptr<SharedArena> arena,
                                     uint64_t bytes_max, OwnedFd slot_table_fd,
                                     Mapping slot_table)
    : link_(link),
      arena_(std::move(arena)),
      bytes_max_(bytes_max),
      slot_table_fd_(std::move(slot_table_fd)),
      slot_table_(std::move(slot_table)),
      lent_(SlotTable::kSlots) {
  for (uint32_t slot = SlotTable::kSlots; slot > 0; --slot) {
    free_.push_back(slot - 1);
  }
}

LinkTerms SharedMemoryLease::terms() const {
  return {link_, arena_->size(), sizeof(SlotTable)};
}

bool SharedMemoryLease::retired() const {
  return slot_table().received.load(std::memory_order_acquire) ==
         SlotTable::kRetired;
}

SharedParts SharedMemoryLease::Lend(std::span<const Buffer> parts) {
  SharedParts shared{link_, ++sequence_, {}};
  for (size_t k = 1; k < parts.size() && !free_.empty(); ++k) {
    const Buffer& part = parts[k];
    const std::optional<size_t> offset = arena_->OffsetOf(part);
    if (!offset.has_value() || part.size() < BlockSource::kBytesMin ||
        part.size() > bytes_max_ - lent_bytes_) {
      continue;
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    in_use_.push_back(slot);
    lent_bytes_ += part.size();
    lent_[slot] = {part, sequence_};
    slot_table().states[slot].store(SlotTable::kLent,
                                    std::memory_order_relaxed);
    shared.parts.push_back(
        {static_cast<uint32_t>(k), slot, *offset, part.size()});
  }
  return shared;
}

void SharedMemoryLease::Reap() {
  const uint64_t received =
      slot_table().received.load(std::memory_order_acquire);
  std::erase_if(in_use_, [&](uint32_t slot) {
    Lent& lent = lent_[slot];
    const uint8_t state =
        slot_table().states[slot].load(std::memory_order_acquire);
    const bool lost = state == SlotTable::kLent && lent.sequence < received;
    if (state != SlotTable::kBack && !lost) return false;
    lent_bytes_ -= lent.part.size();
    lent.part = Buffer();
    free_.push_back(slot);
    return true;
  });
}

}  // namespace feedmill

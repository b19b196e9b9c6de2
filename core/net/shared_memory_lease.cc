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
                      MakeSharedFile("feedmill-parts", sizeof(PartTable)));
  OwnedFd fd(file);
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0) {
    return ResourceExhausted("cannot seal shared memory: {}",
                             std::strerror(errno));
  }
  FM_ASSIGN_OR_RETURN(Mapping part_table,
                      Mapping::Of(fd.get(), sizeof(PartTable),
                                  /*writable=*/true));
  return std::unique_ptr<SharedMemoryLease>(new SharedMemoryLease(
      link, std::move(arena), bytes_max, std::move(fd), std::move(part_table)));
}

SharedMemoryLease::SharedMemoryLease(uint64_t link,
                                     std::shared_ptr<SharedArena> arena,
                                     uint64_t bytes_max, OwnedFd part_table_fd,
                                     Mapping part_table)
    : link_(link),
      arena_(std::move(arena)),
      bytes_max_(bytes_max),
      part_table_fd_(std::move(part_table_fd)),
      part_table_(std::move(part_table)),
      lent_(PartTable::kEntries) {
  for (uint32_t entry = PartTable::kEntries; entry > 0; --entry) {
    free_.push_back(entry - 1);
  }
}

LinkTerms SharedMemoryLease::terms() const {
  return {link_, arena_->size(), sizeof(PartTable)};
}

bool SharedMemoryLease::retired() const {
  return part_table().received.load(std::memory_order_acquire) ==
         PartTable::kRetired;
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
    const uint32_t entry = free_.back();
    free_.pop_back();
    in_use_.push_back(entry);
    lent_bytes_ += part.size();
    lent_[entry] = {part, sequence_};
    part_table().states[entry].store(PartTable::kLent,
                                     std::memory_order_relaxed);
    shared.parts.push_back(
        {static_cast<uint32_t>(k), entry, *offset, part.size()});
  }
  return shared;
}

void SharedMemoryLease::Reap() {
  const uint64_t received =
      part_table().received.load(std::memory_order_acquire);
  std::erase_if(in_use_, [&](uint32_t entry) {
    Lent& lent = lent_[entry];
    const uint8_t state =
        part_table().states[entry].load(std::memory_order_acquire);
    const bool lost = state == PartTable::kLent && lent.sequence < received;
    if (state != PartTable::kBack && !lost) return false;
    lent_bytes_ -= lent.part.size();
    lent.part = Buffer();
    free_.push_back(entry);
    return true;
  });
}

}  // namespace feedmill

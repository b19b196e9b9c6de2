#include "core/net/shared_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/net/shared_file.h"

namespace feedmill {
namespace {

constexpr size_t kPage = 4096;

size_t Pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

absl::StatusOr<std::shared_ptr<SharedArena>> SharedArena::Make(size_t bytes) {
  const size_t size = Pages(bytes);
  FM_ASSIGN_OR_RETURN(const int fd, MakeSharedFile("feedmill-arena", size));
  void* const base =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  // After sealing, only this mapping can write.
  if (base == MAP_FAILED || fcntl(fd, F_ADD_SEALS,
                                  F_SEAL_SHRINK | F_SEAL_GROW |
                                      F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    const int error = errno;
    if (base != MAP_FAILED) munmap(base, size);
    close(fd);
    return ResourceExhausted("cannot share {} bytes of memory: {}", size,
                             std::strerror(error));
  }
  return std::shared_ptr<SharedArena>(
      new SharedArena(fd, static_cast<std::byte*>(base), size));
}

SharedArena::SharedArena(int fd, std::byte* base, size_t size)
    : fd_(fd), base_(base), size_(size) {
  if (size > 0) free_.emplace(0, size);
}

SharedArena::~SharedArena() {
  munmap(base_, size_);
  close(fd_);
}

size_t SharedArena::used() const {
  const std::lock_guard lock(mu_);
  return used_;
}

std::optional<size_t> SharedArena::OffsetOf(const Buffer& view) const {
  const auto base = reinterpret_cast<uintptr_t>(base_);
  const auto at = reinterpret_cast<uintptr_t>(view.data());
  if (at < base || at - base > size_ || view.size() > size_ - (at - base)) {
    return std::nullopt;
  }
  return at - base;
}

std::byte* SharedArena::Take(size_t bytes) {
  const size_t wanted = Pages(bytes);
  const std::lock_guard lock(mu_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [offset, size] = *it;
    if (size < wanted) continue;
    free_.erase(it);
    if (size > wanted) free_.emplace(offset + wanted, size - wanted);
    used_ += wanted;
    return base_ + offset;
  }
  return nullptr;
}

void SharedArena::Shrink(std::byte* block, size_t bytes, size_t kept) {
  FM_CHECK(kept <= bytes);
  Return(block + Pages(kept), Pages(bytes) - Pages(kept));
}

void SharedArena::Return(std::byte* block, size_t bytes) {
  if (bytes == 0) return;
  const auto offset = static_cast<size_t>(block - base_);
  FM_CHECK(offset % kPage == 0 && offset < size_ &&
           Pages(bytes) <= size_ - offset);
  const std::lock_guard lock(mu_);
  Free(offset, Pages(bytes));
}

void SharedArena::Free(size_t offset, size_t size) {
  used_ -= size;
  const auto after = free_.lower_bound(offset);
  FM_CHECK(after == free_.end() || offset + size <= after->first);
  if (after != free_.end() && offset + size == after->first) {
    size += after->second;
    free_.erase(after);
  }
  const auto behind = free_.lower_bound(offset);
  if (behind != free_.begin()) {
    const auto before = std::prev(behind);
    FM_CHECK(before->first + before->second <= offset);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_.emplace(offset, size);
}

}  // namespace feedmill

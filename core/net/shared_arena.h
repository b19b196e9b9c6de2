#ifndef FEEDMILL_CORE_NET_SHARED_ARENA_H_
#define FEEDMILL_CORE_NET_SHARED_ARENA_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "core/chunk/buffer_builder.h"
#include "feedmill/chunk.h"

namespace feedmill {

// Memory that one process fills and others of the same host read: an anonymous
// file (memfd), so that nothing is left behind however they end. It is sealed:
// nobody can change its size, nor map it for writing any more.
//
// Blocks come from the lowest free place. What is in use so stays together at
// the front, where it was touched before and is in the cache; memory behind the
// highest block ever taken is never touched, and so costs nothing.
//
// Thread-safety: any thread.
class SharedArena : public BlockSource {
 public:
  // Of `bytes`, rounded up to whole pages. ResourceExhausted where the system
  // has no (more) such memory.
  static absl::StatusOr<std::shared_ptr<SharedArena>> Make(size_t bytes);
  ~SharedArena() override;
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  int fd() const { return fd_; }
  size_t size() const { return size_; }
  size_t used() const;
  // Where `view` lies in the arena, if it does.
  std::optional<size_t> OffsetOf(const Buffer& view) const;

  // BlockSource: page-aligned, page by page.
  std::byte* Take(size_t bytes) override;
  void Shrink(std::byte* block, size_t bytes, size_t kept) override;
  void Return(std::byte* block, size_t bytes) override;

 private:
  SharedArena(int fd, std::byte* base, size_t size);
  void Free(size_t offset, size_t size);

  const int fd_;
  std::byte* const base_;
  const size_t size_;
  mutable std::mutex mu_;
  std::map<size_t, size_t> free_;  // guarded by mu_: offset → size, apart
  size_t used_ = 0;                // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_ARENA_H_

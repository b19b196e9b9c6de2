#ifndef FEEDMILL_CORE_NET_SHARED_ARENA_H_
#define FEEDMILL_CORE_NET_SHARED_ARENA_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "core/chunk/buffer_builder.h"
#include "feedmill/element.h"

namespace feedmill {

// Memory that one process writes and other processes of the host read. An
// anonymous file (memfd), so it disappears when the last process ends. Sealed:
// no other process can resize it or map it for writing.
//
// Blocks are taken from the lowest free offset. So used memory stays together
// at the front, which is mapped and in the cache already. Memory beyond the
// highest block ever taken is never touched and costs nothing.
//
// Thread-safety: any thread.
class SharedArena : public BlockSource {
 public:
  // Makes an arena of `bytes`, rounded up to whole pages. ResourceExhausted if
  // the system has no such memory.
  static absl::StatusOr<std::shared_ptr<SharedArena>> Make(size_t bytes);
  ~SharedArena() override;
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  int fd() const { return fd_; }
  size_t size() const { return size_; }
  size_t used() const;
  // Returns the offset of `view` in the arena; nullopt if it lies elsewhere.
  std::optional<size_t> OffsetOf(const Buffer& view) const;

  // BlockSource: blocks are whole, aligned pages.
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
  std::map<size_t, size_t>
      free_;         // guarded by mu_: offset → size, not adjacent
  size_t used_ = 0;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_ARENA_H_

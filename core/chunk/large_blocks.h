#ifndef FEEDMILL_CORE_CHUNK_LARGE_BLOCKS_H_
#define FEEDMILL_CORE_CHUNK_LARGE_BLOCKS_H_

#include <cstddef>
#include <utility>

namespace feedmill {

// malloc returns blocks of this size to the kernel when they are freed. That
// takes about a second for each GB, and several on a busy machine.
inline constexpr size_t kLargeBlockBytes = size_t{32} << 20;

// While this object lives, a releaser frees large blocks of the calling thread
// on another thread. Threads that must not be busy for long, e.g. those that
// send heartbeats, use it. Objects nest.
class FreesElsewhere {
 public:
  FreesElsewhere() : outer_(std::exchange(active_, true)) {}
  ~FreesElsewhere() { active_ = outer_; }
  FreesElsewhere(const FreesElsewhere&) = delete;
  FreesElsewhere& operator=(const FreesElsewhere&) = delete;

  static bool Active() { return active_; }

 private:
  static thread_local constinit bool active_;
  const bool outer_;
};

// `release` frees blocks of malloc of at least kLargeBlockBytes, in place of
// std::free. Any thread.
using ReleaseBlock = void (*)(void* block, size_t bytes);
void SetBlockReleaser(ReleaseBlock release);

// Frees such a block by the releaser, if there is one.
void FreeLargeBlock(void* block, size_t bytes) noexcept;

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_LARGE_BLOCKS_H_

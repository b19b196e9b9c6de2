#include "core/chunk/large_blocks.h"

#include <atomic>
#include <cstdlib>

namespace feedmill {
namespace {

std::atomic<ReleaseBlock> g_release = nullptr;

}  // namespace

thread_local constinit bool FreesElsewhere::active_ = false;

void SetBlockReleaser(ReleaseBlock release) { g_release = release; }

void FreeLargeBlock(void* block, size_t bytes) noexcept {
  if (const ReleaseBlock release = g_release) {
    release(block, bytes);
  } else {
    std::free(block);
  }
}

}  // namespace feedmill

#include "core/net/release_thread.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "core/chunk/large_blocks.h"
#include "core/process/process_quota.h"

namespace feedmill {
namespace {

// Memory that waits is used, as is the memory of new elements. Without
// BoundReleases, a share of the process's memory may wait.
constexpr uint64_t kShareOfMemory = 32;
constexpr uint64_t kWaitingBytesMost = uint64_t{3} << 30;
constexpr size_t kSliceBytes = size_t{8} << 20;
constexpr uintptr_t kPageBytes = 4096;
constexpr std::chrono::seconds kIdleThreadTimeout(1);  // then the thread ends

class ReleaseThread {
 public:
  // Never destroyed: memory may be released until the process ends. A child of
  // fork has an object of its own, because the parent's thread is not in it.
  static ReleaseThread& Of() {
    static std::atomic<ReleaseThread*> one = nullptr;
    [[maybe_unused]] static const bool begun = [] {
      one = new ReleaseThread();
      pthread_atfork(nullptr, nullptr, [] { one = new ReleaseThread(); });
      return true;
    }();
    return *one;
  }

  void Bound(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    waiting_bytes_max_ = std::min(bytes, kWaitingBytesMost);
  }

  // Returns false if the caller must drop the owner itself.
  bool Take(std::shared_ptr<const void>& owner, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ > 0 && waiting_bytes_ + bytes > waiting_bytes_max_) {
      return false;
    }
    try {
      if (!runs_) {
        std::thread([this] { Run(); }).detach();
        runs_ = true;
      }
      waiting_.emplace_back(std::move(owner), bytes);
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    waiting_bytes_ += bytes;
    changed_.notify_one();
    return true;
  }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "fm-release");
    std::unique_lock lock(mutex_);
    const auto waits = [this] { return !waiting_.empty(); };
    while (changed_.wait_for(lock, kIdleThreadTimeout, waits)) {
      auto [owner, bytes] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      owner.reset();
      lock.lock();
      waiting_bytes_ -= bytes;
    }
    runs_ = false;  // Take() starts another one
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<std::pair<std::shared_ptr<const void>, size_t>> waiting_;
  uint64_t waiting_bytes_ = 0;
  uint64_t waiting_bytes_max_ =
      std::min(AvailableMemory() / kShareOfMemory, kWaitingBytesMost);
  bool runs_ = false;
};

// Gives the pages of a block back in slices: a thread that maps memory
// meanwhile waits for one slice only, not for the whole block.
void FreeInSlices(void* block, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(block);
  const uintptr_t end = (at + bytes) / kPageBytes * kPageBytes;
  uintptr_t begin = (at + kPageBytes - 1) / kPageBytes * kPageBytes;
  while (begin < end) {
    const size_t size = std::min<size_t>(kSliceBytes, end - begin);
    // If it fails, free gives the pages back.
    if (madvise(reinterpret_cast<void*>(begin), size, MADV_DONTNEED) != 0) {
      break;
    }
    begin += size;
  }
  std::free(block);
}

void Release(void* block, size_t bytes) {
  if (!FreesElsewhere::Active()) return FreeInSlices(block, bytes);
  ReleaseElsewhere(std::shared_ptr<void>(
                       block, [bytes](void* own) { FreeInSlices(own, bytes); }),
                   bytes);
}

}  // namespace

void InstallReleaseThread() { SetBlockReleaser(&Release); }

void BoundReleases(uint64_t bytes) { ReleaseThread::Of().Bound(bytes); }

void ReleaseElsewhere(std::shared_ptr<const void> owner, size_t bytes) {
  if (!ReleaseThread::Of().Take(owner, bytes)) owner.reset();
}

}  // namespace feedmill

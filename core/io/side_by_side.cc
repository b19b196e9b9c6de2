#include "core/io/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/io/read_stop.h"

namespace feedmill {

absl::Status ForEachSideBySide(
    size_t count, size_t threads,
    const std::function<absl::Status(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  // Guarded by mutex.
  absl::Status error;
  size_t error_at = count;
  const auto run = [&] {
    while (!failed) {
      const size_t at = next++;
      if (at >= count) return;
      const absl::Status status = work(at);
      if (status.ok()) continue;
      failed = true;
      const std::lock_guard lock(mutex);
      if (at >= error_at) continue;
      error = status;
      error_at = at;
    }
  };
  const std::atomic<bool>* const stop = ReadStop::Current();
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < std::min(threads, count)) {
      helpers.emplace_back([&] {
        if (stop == nullptr) return run();
        const ReadStop inherited(*stop);
        run();
      });
    }
  } catch (const std::system_error&) {
    // Fewer threads also do all the work.
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  return error;
}

}  // namespace feedmill

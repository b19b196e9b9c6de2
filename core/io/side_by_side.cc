#include "core/io/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/io/read_stop.h"

namespace feedmill {
namespace {

constexpr std::chrono::milliseconds kStopPoll(50);

}  // namespace

absl::Status ForEachSideBySide(
    size_t count, size_t threads,
    const std::function<absl::Status(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  // Guarded by mutex.
  absl::Status error;
  size_t error_at = count;
  std::exception_ptr thrown;  // by `work`, e.g. for want of memory
  const auto run_all = [&] {
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
  const auto run = [&] {
    try {
      run_all();
    } catch (...) {
      failed = true;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  const std::atomic<bool>* const stop = ReadStop::Current();
  size_t ended = 0;  // threads; guarded by mutex
  std::condition_variable one_ended;
  const auto run_on_thread = [&] {
    if (stop == nullptr) {
      run();
    } else {
      const ReadStop inherited(*stop);
      run();
    }
    const std::lock_guard lock(mutex);
    ++ended;
    one_ended.notify_one();
  };
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < std::min(threads, count)) {
      helpers.emplace_back(run_on_thread);
    }
  } catch (const std::system_error&) {
    // Fewer threads also do all the work.
  }
  run();
  {
    // A ReadStop that calls a function is asked on this thread only.
    std::unique_lock lock(mutex);
    while (ended < helpers.size()) {
      one_ended.wait_for(lock, kStopPoll);
      ReadStop::Asked();
    }
  }
  for (std::thread& helper : helpers) helper.join();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return error;
}

}  // namespace feedmill

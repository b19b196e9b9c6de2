#ifndef FEEDMILL_CORE_PIPELINE_STREAM_THREADS_H_
#define FEEDMILL_CORE_PIPELINE_STREAM_THREADS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/pipeline/executor.h"

namespace feedmill {

// Threads that make elements of inputs of streamed sources
// (SourceTraits::streamed), ahead of the thread that combines them. Bounds the
// memory that these elements take together.
//
// Thread-safety: any thread.
class StreamThreads {
 public:
  // `executor` must outlive the runs of the stages, not the stages.
  StreamThreads(Executor& executor, uint64_t bytes_max)
      : executor_(executor), bytes_max_(bytes_max) {}

  Executor& executor() const { return executor_; }
  uint64_t bytes_max() const { return bytes_max_; }

  // Counts elements that are kept ahead; bytes() is their sum.
  void Keep(size_t bytes) { bytes_ += bytes; }
  void Release(size_t bytes) { bytes_ -= bytes; }
  uint64_t bytes() const { return bytes_; }
  bool HasRoom(size_t bytes) const { return bytes_ + bytes <= bytes_max_; }

 private:
  Executor& executor_;
  const uint64_t bytes_max_;
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STREAM_THREADS_H_

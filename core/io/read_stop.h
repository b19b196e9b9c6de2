#ifndef FEEDMILL_CORE_IO_READ_STOP_H_
#define FEEDMILL_CORE_IO_READ_STOP_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

// Makes file reads of this thread interruptible in a scope. Reads that wait for
// a network, listings and counts of files end with Cancelled soon after
// `stopped` becomes true. If scopes are nested, the innermost counts.
//
//   const ReadStop stop(stopping_);
//   file->Read(…);                    // ends early if stopping_ becomes true
class ReadStop {
 public:
  explicit ReadStop(const std::atomic<bool>& stopped);
  // Stops when `interrupted` returns true. Asked() calls it on this thread, at
  // most every 50 ms, until it returns true. Null: this scope does not count.
  explicit ReadStop(std::function<bool()> interrupted);
  // Stops at `end`, and when the outer scope stops.
  explicit ReadStop(std::chrono::steady_clock::time_point end);
  ~ReadStop();
  ReadStop(const ReadStop&) = delete;
  ReadStop& operator=(const ReadStop&) = delete;

  // True if the work of this thread should end. File systems that wait for a
  // network, and loops over many files, call it several times a second.
  static bool Asked();
  // Cancelled, with the name of a file or folder, if Asked().
  static absl::Status Check(std::string_view name);
  // The `stopped` of this thread's innermost ReadStop, to pass to threads that
  // work for this one. Null if there is none.
  static const std::atomic<bool>* Current();

 private:
  bool Stopped() const;

  const std::function<bool()> interrupted_;
  mutable std::chrono::steady_clock::time_point called_;
  mutable std::atomic<bool> own_{false};
  const std::atomic<bool>& stopped_;
  const ReadStop* const outer_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_READ_STOP_H_

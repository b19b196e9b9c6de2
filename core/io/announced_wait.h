#ifndef FEEDMILL_CORE_IO_ANNOUNCED_WAIT_H_
#define FEEDMILL_CORE_IO_ANNOUNCED_WAIT_H_

#include <chrono>

#include "absl/time/time.h"

namespace feedmill {

// Measures how long a thread waits for bytes that were announced before they
// are read. Many of these waits overlap: twice as many announcements need about
// the same time. The wait is the lifetime of an object.
class AnnouncedWait {
 public:
  AnnouncedWait() = default;
  ~AnnouncedWait() {
    total += absl::FromChrono(std::chrono::steady_clock::now() - begun_);
  }
  AnnouncedWait(const AnnouncedWait&) = delete;
  AnnouncedWait& operator=(const AnnouncedWait&) = delete;

  // All waits of the calling thread until now.
  static absl::Duration Total() { return total; }

 private:
  static inline thread_local absl::Duration total;

  const std::chrono::steady_clock::time_point begun_ =
      std::chrono::steady_clock::now();
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_ANNOUNCED_WAIT_H_

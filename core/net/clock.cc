#include "core/net/clock.h"

#include <time.h>

#include <algorithm>
#include <atomic>

namespace feedmill {
namespace {

int64_t Nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

absl::Time SteadyNow() {
  return absl::FromUnixNanos(Nanoseconds(CLOCK_BOOTTIME));
}

uint64_t NextIncarnation(uint64_t above) {
  static std::atomic<uint64_t> last{0};
  const auto wall = static_cast<uint64_t>(Nanoseconds(CLOCK_REALTIME));
  uint64_t before = last.load();
  uint64_t next = 0;
  do {
    next = std::max(wall, std::max(before, above) + 1);
  } while (!last.compare_exchange_weak(before, next));
  return next;
}

}  // namespace feedmill

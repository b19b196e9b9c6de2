#ifndef FEEDMILL_CORE_IO_RETRY_SCHEDULE_H_
#define FEEDMILL_CORE_IO_RETRY_SCHEDULE_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"

namespace feedmill {

// Pauses between the attempts of a request: 100 ms, 200 ms, 400 ms … up to 10
// s. Each is shortened by up to half, so that requests that failed together are
// not repeated together. A function of seed, URL, offset and attempt.
class RetrySchedule {
 public:
  static constexpr absl::Duration kFirst = absl::Milliseconds(100);
  static constexpr absl::Duration kMax = absl::Seconds(10);

  RetrySchedule(uint64_t seed, std::string_view url, uint64_t offset);

  // The pause after the failed attempt `attempt` (from 0).
  absl::Duration Pause(int attempt) const;

 private:
  uint64_t seed_;
  uint64_t request_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RETRY_SCHEDULE_H_

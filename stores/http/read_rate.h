#ifndef FEEDMILL_STORES_HTTP_READ_RATE_H_
#define FEEDMILL_STORES_HTTP_READ_RATE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace feedmill {

// The rate at which a file is read. Not thread-safe.
class ReadRate {
 public:
  // Adds `bytes` that were read now.
  void Add(uint64_t bytes, absl::Time now);

  // Bytes that are read within `time`, at the rate of the last periods of a
  // tenth of a second. 0 before the first period has ended.
  uint64_t BytesIn(absl::Duration time) const;

 private:
  // Bytes a second in the last period, and in the one before it. The faster
  // one counts, because readers pause.
  double rate_ = 0;
  double rate_before_ = 0;
  uint64_t bytes_ = 0;  // in this period
  absl::Time begin_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_READ_RATE_H_

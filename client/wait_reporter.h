#ifndef FEEDMILL_CLIENT_WAIT_REPORTER_H_
#define FEEDMILL_CLIENT_WAIT_REPORTER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "feedmill/reader.h"

namespace feedmill {

// Reports the cause of a reader's wait on stderr and to a callback: 2 s after
// the wait began and then every 10 s. Thread-compatible.
class WaitReporter {
 public:
  WaitReporter(std::string reader, std::function<void(const ReadWait&)> on_wait)
      : reader_(std::move(reader)), on_wait_(std::move(on_wait)) {}

  // The reader has waited since `begun`; `what` describes the cause.
  void Report(absl::Time now, absl::Time begun,
              const std::function<std::string()>& what);

 private:
  const std::string reader_;  // "the reader of job 'x'"
  const std::function<void(const ReadWait&)> on_wait_;
  absl::Time begun_ = absl::InfinitePast();
  absl::Time next_report_ = absl::InfiniteFuture();
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_WAIT_REPORTER_H_

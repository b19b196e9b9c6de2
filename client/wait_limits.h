#ifndef FEEDMILL_CLIENT_WAIT_LIMITS_H_
#define FEEDMILL_CLIENT_WAIT_LIMITS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/pending_rank_reporter.h"
#include "client/service_link.h"
#include "feedmill/reader.h"

namespace feedmill {

// Limits how long a reader of a service waits, and reports the wait.
// Thread-compatible.
class WaitLimits {
 public:
  WaitLimits(std::string service, const ReadOptions& options);

  // Returns an error if the wait that began at `begun` should end; OK:
  // continue.
  absl::Status Late(const ServiceLink::View& view, absl::Time begun,
                    bool had_element) const;
  // Reports the cause of the wait, on stderr and to the application: 2 s after
  // it began, and then every 10 s.
  void Report(const ServiceLink::View& view, absl::Time begun);
  // Describes the cause of the wait.
  std::string WaitsFor(const ServiceLink::View& view) const;

 private:
  // Longest waits of an element.
  struct Patience {
    absl::Duration peers;  // for peers that do not answer
    absl::Duration data;   // for data of peers that answer
  };

  Patience PatienceOf(bool had_element) const;
  absl::Status LateData(const ServiceLink::View& view, absl::Time begun,
                        Patience patience) const;

  const std::string service_;
  const std::optional<absl::Duration> first_timeout_;
  const absl::Duration timeout_;
  PendingRankReporter pending_ranks_;
  const std::string reader_;  // "the reader of job 'x'"
  const std::function<void(const ReadWait&)> on_wait_;
  absl::Time reported_wait_ = absl::InfinitePast();  // its begin
  absl::Time next_report_ = absl::InfiniteFuture();
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_WAIT_LIMITS_H_

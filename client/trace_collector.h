#ifndef FEEDMILL_CLIENT_TRACE_COLLECTOR_H_
#define FEEDMILL_CLIENT_TRACE_COLLECTOR_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/collected_trace.h"
#include "feedmill/endpoint.h"

namespace feedmill {

struct TraceWish {
  std::string service;  // "tcp://host:port" or "host:port"
  std::string cluster_id;
  SecurityConfig security;
  std::string job;
  absl::Duration duration = absl::Seconds(10);
  absl::Duration timeout = absl::Seconds(4);  // for an answer
};

// Has the dispatcher trace a job, and collects the spans until the trace is
// complete. `pause` waits, and returns false to end the trace early. A trace
// also ends early if the dispatcher stops answering. The result then has the
// spans collected so far, and `incomplete`. NotFound if there is no such job,
// FailedPrecondition if the job is over or is being traced already.
absl::StatusOr<CollectedTrace> CollectTrace(
    const TraceWish& wish, const std::function<bool(absl::Duration)>& pause);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_TRACE_COLLECTOR_H_

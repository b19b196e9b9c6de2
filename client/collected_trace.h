#ifndef FEEDMILL_CLIENT_COLLECTED_TRACE_H_
#define FEEDMILL_CLIENT_COLLECTED_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// The spans of a job. Times are by the clocks of the processes that recorded
// them; to get the dispatcher's, add TracedProcess::offset.
struct CollectedTrace {
  std::string job;
  uint64_t id = 0;
  absl::Time begin;  // the dispatcher's clock
  absl::Time end;
  absl::Duration to_unix;  // to be added to the dispatcher's times
  std::vector<TraceSpan> spans;
  std::vector<TracedProcess> processes;
  std::vector<std::string> places;
  uint64_t lost = 0;        // by the dispatcher
  std::string waits_for;    // for what the job waited at the end
  absl::Status incomplete;  // not OK: why the trace ended early
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_COLLECTED_TRACE_H_

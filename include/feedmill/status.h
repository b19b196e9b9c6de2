#ifndef FEEDMILL_STATUS_H_
#define FEEDMILL_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/endpoint.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// The message of a status. (The message() of Debian's Abseil is no
// std::string_view.)
inline std::string ErrorText(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

// Returns the state of a service as JSON: jobs, workers and totals (see
// `feedmill status --help`). `security`: an operator's keys, for a service that
// has keys. `all_events`: with all events that the dispatcher keeps, in place
// of the last 50; an earlier dispatcher sends those. DeadlineExceeded if no
// dispatcher answers within `timeout`.
absl::StatusOr<std::string> FetchStatus(const std::string& service,
                                        absl::Duration timeout,
                                        const std::string& cluster_id = "",
                                        const SecurityConfig& security = {},
                                        bool all_events = false);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_STATUS_H_

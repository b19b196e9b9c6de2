#ifndef FEEDMILL_WORKER_LEASED_SPLIT_H_
#define FEEDMILL_WORKER_LEASED_SPLIT_H_

#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/outgoing_stream.h"

namespace feedmill {

// A lease of a worker, and the stream that its client has opened.
struct LeasedSplit {
  Lease lease;
  std::optional<OutgoingStream> stream{};
  absl::Status failure{};  // not OK: reported until the lease ends
  absl::Time leased{};
  bool begun = false;      // a task was started
  uint64_t announced = 0;  // positions before it were announced

  // True if the client has sent a grant within `park_after`.
  bool Granted(absl::Time now, absl::Duration park_after) const {
    return stream && now - stream->terms.granted <= park_after;
  }
  void Fail(absl::Status status) {
    stream.reset();
    failure = std::move(status);
  }
};
using LeasedSplits = std::map<SplitId, LeasedSplit>;

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_LEASED_SPLIT_H_

#ifndef FEEDMILL_CLIENT_SESSION_SETTINGS_H_
#define FEEDMILL_CLIENT_SESSION_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// The begin of a reader whose run is sequenced.
struct SequenceStart {
  uint64_t number = 0;        // of the element
  GeneratorStatePtr state{};  // leads to cursor {0, number}, or null
};

struct ReadSessionSettings {
  JobName job;
  std::string graph;  // CanonicalText
  Order order = Order::kDeterministic;
  std::optional<uint64_t> seed;
  std::optional<RunNumber> run;  // absent: the job's present or next run
  bool begins = false;           // true: begins `run`; false: continues it
  Cursor start;                  // deterministic: where to begin
  // A generator's state that leads to `start`, or null.
  GeneratorStatePtr state{};
  // Absent: the reader cannot read a sequenced run.
  std::optional<SequenceStart> sequence{};
  uint64_t passes = 0;  // known passes of the run; see RunInfo
  bool settled = false;
  Session session;
  // Unacknowledged leaves of earlier readers of this job in this process. Sent
  // before this reader's hello until they are acknowledged.
  std::vector<ClientLeave> former_leaves{};
  Share share{};  // share of this rank
  bool take_over = false;
  uint64_t budget_bytes = uint64_t{64} << 20;  // credit over all splits
  // minimum credit ahead of one split
  uint64_t quota_bytes = uint64_t{2} << 20;
  // Most pieces that were pulled and wait to be taken. What is pulled counts as
  // used: a reader that is one of several should not pull far ahead.
  size_t queued_pieces = SIZE_MAX;
  uint32_t weight = kDefaultWeight;  // of the job, at the workers
  absl::Duration reopen_after = absl::Seconds(1);
  absl::Duration hello_interval = absl::Milliseconds(200);

  // True if several readers share the job.
  bool shared() const { return order == Order::kAny; }
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SESSION_SETTINGS_H_

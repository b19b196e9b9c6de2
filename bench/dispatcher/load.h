#ifndef FEEDMILL_BENCH_DISPATCHER_LOAD_H_
#define FEEDMILL_BENCH_DISPATCHER_LOAD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

// Loads for a dispatcher, with stub workers and clients that do no work. They
// send over real connections the messages that real ones would send. Each load
// returns a line of JSON and checks the dispatcher's answers.

namespace feedmill::bench {

struct SplitLoad {
  std::string dispatcher;  // "tcp://host:port"
  uint64_t splits = 200'000;
  uint32_t workers = 4;
  uint32_t slots = 32;  // of each worker
  uint32_t clients = 4;
};
// The clients share a job with splits of minimum size and report each leased
// split as done at once. Internal if a split came twice, never, or without a
// worker's lease.
absl::StatusOr<std::string> RunSplits(const SplitLoad& load);

struct HeartbeatLoad {
  std::string dispatcher;
  uint32_t workers = 5'000;
  std::string first_name;  // distinguishes workers of several processes
  absl::Duration time = absl::Seconds(10);  // after all are registered
};
// Workers that only send heartbeats, one per second each. Unavailable if a
// worker is not answered.
absl::StatusOr<std::string> RunHeartbeats(const HeartbeatLoad& load);

// The cost of the transport alone: a ZeroMQ ROUTER that echoes each message. It
// prints its address to standard output and runs until it is killed.
absl::StatusOr<std::string> RunEcho();

struct RecoveryLoad {
  std::string work_dir;  // empty or missing
  uint64_t splits = 1'000'000;
};
// Journals an iteration: readers end half of the splits in random order and
// leave. Then a new dispatcher recovers the journal. Internal if the recovered
// state differs.
absl::StatusOr<std::string> RunRecovery(const RecoveryLoad& load);

}  // namespace feedmill::bench

#endif  // FEEDMILL_BENCH_DISPATCHER_LOAD_H_

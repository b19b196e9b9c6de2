#ifndef FEEDMILL_BENCH_DISPATCHER_LOAD_H_
#define FEEDMILL_BENCH_DISPATCHER_LOAD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

// Loads for a dispatcher, without workers that work and clients that read: what
// they say is what real ones would, over real connections. Each gives one line
// of JSON and checks what the dispatcher answered.

namespace feedmill::bench {

struct SplitLoad {
  std::string dispatcher;  // "tcp://host:port"
  uint64_t splits = 200'000;
  uint32_t workers = 4;
  uint32_t slots = 32;  // of each worker
  uint32_t clients = 4;
};
// The clients share a job whose splits are as small as can be, and say of each
// that is leased, at once, that they are through with it. Internal if a split
// came twice, never, or without a worker's lease.
absl::StatusOr<std::string> RunSplits(const SplitLoad& load);

struct HeartbeatLoad {
  std::string dispatcher;
  uint32_t workers = 5'000;
  std::string first_name;  // tells the workers of several processes apart
  absl::Duration time = absl::Seconds(10);  // after all are known
};
// Workers that do nothing but beat, each once a second. Unavailable if one is
// not answered.
absl::StatusOr<std::string> RunHeartbeats(const HeartbeatLoad& load);

// What the transport alone takes for that: a ZeroMQ ROUTER that sends each
// message back, at the address that it writes to standard output, until it is
// killed.
absl::StatusOr<std::string> RunEcho();

struct RecoveryLoad {
  std::string work_dir;  // empty or missing
  uint64_t splits = 1'000'000;
};
// Journals an iteration, half of whose splits are done in random order when the
// readers go away; then a new dispatcher recovers it. Internal if it is not the
// state that was left.
absl::StatusOr<std::string> RunRecovery(const RecoveryLoad& load);

}  // namespace feedmill::bench

#endif  // FEEDMILL_BENCH_DISPATCHER_LOAD_H_

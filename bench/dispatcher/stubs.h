#ifndef FEEDMILL_BENCH_DISPATCHER_STUBS_H_
#define FEEDMILL_BENCH_DISPATCHER_STUBS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/wire/message.h"

namespace feedmill::bench {

// A worker that accepts leases and computes nothing.
class StubWorker {
 public:
  StubWorker(std::string name, uint32_t slots);

  // Returns true if a message should be sent at once.
  bool Handle(const Message& message);
  WorkerBeat Beat() const;

  // Number of distinct splits leased so far.
  uint64_t leased() const { return leased_; }

 private:
  WorkerBeat beat_;
  uint64_t leased_ = 0;
  std::vector<bool> had_;  // by number of the split
};

// A reader that reports each split as done when it is leased.
class StubClient {
 public:
  StubClient(std::string job, std::string consumer, std::string graph);

  // Returns true if a message should be sent at once.
  bool Handle(const Message& message);
  ClientHello Hello() const;
  ClientBeat Beat(absl::Time now) const;
  bool live() const { return beat_.run != RunNumber(); }
  bool finished() const { return finished_; }
  const absl::Status& refused() const { return refused_; }
  // Positions that are done and acknowledged by the dispatcher: begin → end.
  const std::map<uint64_t, uint64_t>& done() const { return done_; }
  uint64_t splits() const { return splits_; }
  uint64_t repeated() const { return repeated_; }

 private:
  bool Take(const ClientAnswer& answer);

  ClientHello hello_;
  ClientBeat beat_;  // reports splits that are bound and leased
  bool finished_ = false;
  absl::Status refused_;
  std::map<uint64_t, uint64_t> done_;
  uint64_t splits_ = 0;
  uint64_t repeated_ = 0;
};

}  // namespace feedmill::bench

#endif  // FEEDMILL_BENCH_DISPATCHER_STUBS_H_

#ifndef FEEDMILL_TESTS_SIM_SIMULATION_H_
#define FEEDMILL_TESTS_SIM_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "broker/dispatcher.h"
#include "client/read_session.h"
#include "worker/worker_agent.h"

// The whole system in one thread, from one seed: the real Dispatcher,
// WorkerAgents and ReadSessions, with a virtual clock, a network that breaks,
// processes that die and freeze, whose clocks do not agree, and a made-up
// pipeline; in some, a second job beside the first; in some, tasks that take
// next to no time on some workers or for a while. What is checked after each
// step is what docs and protocol promise:
//
//   - deterministic: the sequence of the reference, also over crashes of
//     workers and dispatcher, for whoever reads it, also from a token on, be it
//     of an earlier pass; at most one reader hands out at a time;
//   - ranks: that for each one's share, whoever of them dies or goes on from a
//     token, also when their number changes;
//   - sharers: each element once, but for the exception of rule 25, also where
//     one stops within a chunk that it was given;
//   - nobody is released while its lease is valid;
//   - the client's buffer stays within its budget and one frame, a worker's
//     within its memory, one position a head and what its tasks misjudged;
//   - replaying the journal gives the dispatcher's state, also when it dies and
//     what it had not synced is lost; it is never behind what it said;
//   - the dispatcher says at most one thing to each peer in one call;
//   - a run with slots (mode off) has one for each worker there was at a time
//     until the first slot ended, and all of its readers end at the same place;
//     nobody hands out an element of the second slot before that is settled,
//     and a dispatcher that lost its store settles it with the number that a
//     rank knows of which it hears within the client timeout;
//   - a pass is read within a bound after the last fault.

namespace feedmill::sim {

// Makes the state machines; planted bugs are made here.
struct Makers {
  std::function<std::unique_ptr<Dispatcher>(DispatcherSettings, Planner,
                                            DispatcherState, absl::Time)>
      dispatcher;
  std::function<std::unique_ptr<WorkerAgent>(WorkerAgentSettings)> worker;
  std::function<std::unique_ptr<ReadSession>(ReadSessionSettings)> client;
  // Events that the dispatcher's shell need not have on disk before it speaks.
  std::function<bool(const DispatcherEvent&)> may_be_late;
  // The cursor of the token that an application saves when `after` is the
  // cursor just after the last element that it had.
  std::function<Cursor(const ReadSession&, Cursor after)> token_cursor;
  // Rows that a sharer's shell reports as handed out when its application has
  // used `used` rows, and was given `given`, those included.
  std::function<uint64_t(uint64_t used, uint64_t given)> handed_out;
  // True if the shell asks, within a chunk, if the rest is still its own.
  bool asks_within_chunk = true;
};
Makers RealMakers();

struct Options {
  uint64_t seed = 0;
  Makers makers = RealMakers();
  std::ostream* trace = nullptr;  // every message, event and fault
  // Readers without a token name the iteration that they begin. Default: drawn.
  std::optional<bool> names_epochs{};
};

// Counters, by name: faults by kind, releases of leases, elements and so on.
using Totals = std::map<std::string, uint64_t>;

struct Result {
  std::optional<std::string> violation;
  uint64_t trace_hash = 0;  // of all that was delivered, in order
  Totals totals;
};

// Runs the simulation of a seed. The same seed, the same result.
Result Simulate(const Options& options);

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_SIMULATION_H_

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
// WorkerAgents and ReadSessions, and a fake pipeline. The clock is virtual, the
// network breaks, processes die and freeze, and their clocks differ. Some seeds
// have a second job, or tasks that take almost no time on some workers or for a
// while.
//
// After each step the simulation checks the guarantees of docs and protocol:
//
//   - deterministic order: the reader gets the reference sequence, also across
//     crashes of workers and dispatcher, other readers, and tokens of earlier
//     passes; at most one reader hands out at a time
//   - ranks: each gets the sequence of its share, even if ranks die, resume
//     from a token, or change their number
//   - sharing readers: each element comes once, except as rule 25 allows, also
//     if a reader stops within a chunk
//   - no session is released while its lease is valid
//   - the client's buffer stays within its budget and one frame; a worker's
//     within its memory, one position per head and its tasks' estimation error
//   - replaying the journal gives the dispatcher's state, also after a crash
//     that loses unsynced events; it is never behind sent messages
//   - the dispatcher sends at most one message to each peer per call
//   - a run in mode off has one pass for each worker that was present at some
//     time before the first pass ended, and all its readers end together;
//     no reader hands out elements of the second pass before the number of
//     passes is settled; a dispatcher that lost its store settles it with the
//     number that a rank reports within the client timeout
//   - no worker gets a lease of a pipeline with Python functions, or lists its
//     files, that its interpreter cannot run
//   - a state of a generator leads to the place that it is sent for, and is of
//     that run
//   - all this holds while a standby takes over from a dispatcher that stands
//     still, and which peers still reach when it wakes
//   - a registered dataset is found unchanged as long as the journal exists
//   - a pass is complete within a bound after the last fault

namespace feedmill::sim {

// Factories of the state machines; planted bugs are inserted here.
struct Makers {
  std::function<std::unique_ptr<Dispatcher>(DispatcherSettings, Planner,
                                            DispatcherState, absl::Time)>
      dispatcher;
  std::function<std::unique_ptr<WorkerAgent>(WorkerAgentSettings)> worker;
  std::function<std::unique_ptr<ReadSession>(ReadSessionSettings)> client;
  // Events that the dispatcher's shell may send before they are on disk.
  std::function<bool(const DispatcherEvent&)> may_be_late;
  // The cursor of an application's token, where `after` is the cursor just
  // after its last element.
  std::function<Cursor(const ReadSession&, Cursor after)> token_cursor;
  // Rows that a sharing reader reports as handed out, if its application was
  // given `given` rows and has used `used` of them.
  std::function<uint64_t(uint64_t used, uint64_t given)> handed_out;
  // True if the store refuses the events of a dispatcher after a standby took
  // over.
  bool store_fences = true;
  // True if the messages of a dispatcher wait while another one may lead.
  bool waits_for_certainty = true;
  // True if the shell checks, within a chunk, that the rest is still its own.
  bool asks_within_chunk = true;
};
Makers RealMakers();

struct Options {
  uint64_t seed = 0;
  Makers makers = RealMakers();
  std::ostream* trace = nullptr;  // every message, event and fault
  // True if readers without a token name the iteration that they begin.
  // Default: drawn.
  std::optional<bool> names_epochs{};
  // True if a process also registers datasets and looks them up.
  bool registers_datasets = false;
  // True if a tool also traces jobs.
  bool traces_jobs = false;
  // True if the pipeline is a generator with states.
  bool generates = false;
};

// Counters, by name: faults by kind, releases of leases, elements and so on.
using Totals = std::map<std::string, uint64_t>;

struct Result {
  std::optional<std::string> violation;
  uint64_t trace_hash = 0;  // of all deliveries, in order
  Totals totals;
};

// Runs the simulation of a seed. Equal seeds give equal results.
Result Simulate(const Options& options);

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_SIMULATION_H_

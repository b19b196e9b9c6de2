#ifndef FEEDMILL_BROKER_DISPATCHER_SNAPSHOT_H_
#define FEEDMILL_BROKER_DISPATCHER_SNAPSHOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

// Values of a dispatcher's metrics, as plain data.

namespace feedmill {

// Numbers of faults of peers since the dispatcher's start.
struct DispatcherFaults {
  uint64_t workers_lost = 0;          // silent too long, or restarted
  uint64_t workers_died = 0;          // lost workers that died
  uint64_t workers_set_aside = 0;     // because splits failed on them
  uint64_t cache_write_failures = 0;  // caches that workers could not write
  uint64_t jobs_failed = 0;           // runs that the dispatcher gave up
  uint64_t leases_failed = 0;         // attempts that ended with an error
  uint64_t second_attempts = 0;       // for heads without progress
  uint64_t splits_failed = 0;         // after all attempts
  uint64_t sessions_released = 0;     // silent too long
  uint64_t sessions_refused = 0;      // readers that may not join
  uint64_t sessions_fenced = 0;       // messages of readers that were replaced
};

// Numbers of messages and connections that failed, counted by the server since
// its start.
struct TransportFaults {
  uint64_t messages_refused = 0;     // not understood, or not allowed
  uint64_t messages_dropped = 0;     // for peers that are gone or do not read
  uint64_t connections_refused = 0;  // in their handshake
  // Relayed data for clients that reach no worker: bytes in all, bytes that
  // wait to be sent now, and messages dropped because too many bytes waited.
  uint64_t relayed_bytes = 0;
  uint64_t relay_waiting_bytes = 0;
  uint64_t relay_dropped = 0;
};

// A dispatcher that waits to take over, as the leader sees it.
struct StandbySnapshot {
  std::string name;    // "process 17 on pod-1"
  double heard_s = 0;  // seconds since its last sign
  // Events that it had not read then; nullopt if it reads them when it leads.
  std::optional<uint64_t> behind{};
};

// Load of the server's threads and of its journal since the start.
struct ShellLoad {
  // Part of the last second, 0 to 1, that the server's thread or the
  // journal's worked, whichever is greater.
  double busy = 0;
  uint64_t journal_syncs = 0;
  absl::Duration journal_time;
  absl::Duration journal_last;  // time of the last sync
  // Bytes that the file system of the journal has left; nullopt without one.
  std::optional<uint64_t> free_bytes{};
  // The place of state in a store; "" otherwise. Then which dispatcher in turn
  // leads it, and since when: "2026-11-29T18:00:00Z".
  std::string state_place{};  // without secrets
  uint64_t term = 0;
  std::string leads_since{};
  std::vector<StandbySnapshot> standbys{};
};

// Sums over all readers of a job since the dispatcher's start. A reader that
// joins again counts from zero; these sums continue.
struct JobTotals {
  uint64_t elements = 0;
  uint64_t bytes = 0;
  uint64_t skipped = 0;
  double elapsed_s = 0;  // sum of the readers' elapsed times
  double waited_s = 0;
  double stage_s = 0;
};

struct JobSnapshot {
  std::string name;
  bool anonymous = false;
  std::string state;
  std::string plan{};  // of its run, as workers name it; "": not planned
  std::string bound_by;
  JobTotals totals;
  uint64_t readers = 0;
  // Grows in the order in which jobs lost their last readers.
  uint64_t idle_since = 0;
  uint64_t splits = 0;           // bound and not ended
  uint64_t splits_waiting = 0;   // bound splits not yet at their reader
  uint64_t splits_unleased = 0;  // waiting splits without a worker
  uint64_t buffered_bytes = 0;   // at readers
  double oldest_lease_s = 0;     // longest time without progress of a lease
  // Nullopt: not known yet. All jobs without a name share one number.
  std::optional<uint64_t> workers_wanted{};
  bool more_workers_help = true;
  struct Step {
    std::string name;
    double wall_s = 0;  // of measured tasks
    double cpu_s = 0;
    uint64_t rows_out = 0;
  };
  std::vector<Step> steps;
};

struct WorkerSnapshot {
  std::string name;
  bool draining = false;
  bool set_aside = false;
  uint64_t slots = 0;
  uint64_t leases = 0;
  uint64_t leases_failed = 0;  // since its start
  double busy = 0;
  double busy_s = 0;  // of all threads, since its start
  uint64_t memory_bytes = 0;
  uint64_t memory_max = 0;
  double streams = 0;
  double waiting_for_credit = 0;
  double waiting_for_memory = 0;
  double heard_s = 0;  // seconds since its last heartbeat
};

struct DispatcherSnapshot {
  std::vector<JobSnapshot> jobs;
  std::vector<WorkerSnapshot> workers;
  JobTotals anonymous;  // sums of all jobs without a name, ended ones included
  DispatcherFaults faults;
  TransportFaults transport;
  ShellLoad shell;
  std::optional<uint64_t> workers_wanted{};
  uint64_t scale_changes = 0;
  uint64_t slots = 0;
  uint64_t splits = 0;
  uint64_t leases = 0;
  uint64_t sessions = 0;
  uint64_t events = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCHER_SNAPSHOT_H_

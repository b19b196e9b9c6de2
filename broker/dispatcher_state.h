#ifndef FEEDMILL_BROKER_DISPATCHER_STATE_H_
#define FEEDMILL_BROKER_DISPATCHER_STATE_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "broker/range_pool.h"
#include "core/wire/message.h"

// What the dispatcher must not forget: jobs, runs, sessions and bindings, as
// one comparable value that only events change. Replaying the journal of
// events gives the state; leases, attempts and addresses are not in it, peers
// report them again.

namespace feedmill {

// A reader within its job.
struct SessionKey {
  JobName job;
  ConsumerId consumer;
  friend bool operator==(const SessionKey&, const SessionKey&) = default;
  friend auto operator<=>(const SessionKey&, const SessionKey&) = default;
};

// A run of positions bound to one session: [begin, end).
struct SplitState {
  SessionKey owner;
  Cursor begin;
  Cursor end;
  Cursor taken;        // all before it is in the client's buffer, or was
  Cursor out;          // all before it left the buffer; sharers: handed out
  absl::Status error;  // every attempt failed
  bool served() const { return taken >= end; }
  friend bool operator==(const SplitState&, const SplitState&) = default;
};

struct SessionState {
  Incarnation incarnation;
  Share share;                // what it takes of the sequence
  Cursor next;                // deterministic: the next split begins here
  std::set<SplitId> splits;   // bound and not ended
  std::set<SplitId> waiting;  // of these, those that are not served
  friend bool operator==(const SessionState&, const SessionState&) = default;
};

enum class RunPhase : uint8_t { kPlanning, kRunning, kFinished, kFailed };

// How the readers of a run ended it: the greatest of their reasons counts. A
// journal of version 7 has only the first two: kNone is its "not complete".
enum class RunEnding : uint8_t { kNone, kFinished, kLeft, kCancelled };
RunEnding EndingOf(LeaveReason why);

// A job and its current run. The run's number is its iteration + 1, so that a
// client can have its job created again on an emptied store.
struct JobState {
  JobName name;
  std::string graph;  // CanonicalText of the first hello
  std::string fingerprint;
  Order order = Order::kDeterministic;
  uint64_t seed = 0;
  bool resolved = false;  // the manifest is known, or none is needed
  std::string manifest;

  RunNumber run;
  uint64_t iteration = 0;
  RunPhase phase = RunPhase::kPlanning;
  RunEnding ending = RunEnding::kNone;  // the greatest of readers so far
  absl::Status error;                   // why kFailed
  uint64_t source_size = 0;
  uint64_t positions = 0;
  uint64_t first_split = 1;
  PlanId plan;
  // Mode off: the passes that `positions` are, 0 where the graph is read once;
  // before the run is planned, what its readers know of them. Settled: no
  // worker that comes adds one.
  uint64_t slots = 0;
  bool settled = false;
  std::map<RunNumber, uint64_t> slots_of;  // settled, of runs to go back to

  std::map<ConsumerId, SessionState> sessions;
  // Deterministic: the ranks that share the sequence, the last run that each
  // has read to its end or left, and each one's last life, also when it ended.
  // A rank may be beyond the present run: another one went back to it.
  uint64_t ranks = 1;
  std::map<uint64_t, RunNumber> finished;
  std::map<ConsumerId, Incarnation> lives;
  uint64_t open_splits = 0;      // of all sessions
  uint64_t ended_positions = 0;  // of ended splits
  uint64_t fresh = 0;            // sharers: never bound from here on
  RangePool returned;            // sharers: to be bound again
  uint64_t idle_since = 0;       // sequence number when its last session closed

  bool anonymous() const;
  bool over() const {
    return phase == RunPhase::kFinished || phase == RunPhase::kFailed;
  }
  // The present run was planned; it may have ended before.
  bool planned() const { return plan != PlanId(); }
  // Whether the rank has finished the present run, and how many ranks have.
  bool Done(uint64_t rank) const;
  uint64_t DoneRanks() const;
  // Nothing is left to bind to anyone, also not to a rank that is still to
  // come.
  bool dry() const;
  // Sharers: what is bound next comes from here; begin ≥ end if nothing is
  // left. What came back goes first.
  RangePool::Range Unbound() const;
  friend bool operator==(const JobState&, const JobState&) = default;
};

// ---- events, in the order of a job's life
struct JobCreated {
  JobName job;
  std::string graph;
  std::string fingerprint;
  Order order = Order::kDeterministic;
  uint64_t seed = 0;
};
struct RunStarted {
  JobName job;
  RunNumber run;
  uint64_t iteration = 0;
};
struct ManifestKnown {
  JobName job;
  std::string manifest;  // "" if none is needed
};
struct RunPlanned {
  JobName job;
  uint64_t source_size = 0;
  uint64_t positions = 0;
  uint64_t first_split = 1;
  PlanId plan;
  uint64_t slots = 0;  // of which the positions are passes, each as long
};
// A session begins, or a newer incarnation replaces one, at `start`.
struct SessionOpened {
  SessionKey key;
  Incarnation incarnation;
  Cursor start;
  Share share{};
};
// Splits with names that follow each other: [begin, end) in parts of `size`
// positions, the last one perhaps less.
struct SplitsBound {
  SplitId first;
  SessionKey owner;
  Cursor begin;
  Cursor end;
  uint64_t size = 1;
  uint64_t count() const {
    const uint64_t positions = end.p - begin.p;
    return size == 0 ? 0 : positions / size + (positions % size != 0 ? 1 : 0);
  }
  SplitId name(uint64_t k) const { return {first.journal, first.number + k}; }
};
struct SplitsTaken {
  std::vector<SplitReport> reports;
};
struct SplitFailed {
  SplitId split;
  absl::Status status;
};
// Names that follow each other.
struct SplitRange {
  SplitId first;
  uint64_t count = 0;
  SplitId name(uint64_t k) const { return {first.journal, first.number + k}; }
};
// Everything of them is out. In order of names.
struct SplitsEnded {
  std::vector<SplitRange> ranges;
};
// A session left or was released; its unfinished work goes back. `for_good`:
// its name must not be opened again.
struct SessionClosed {
  SessionKey key;
  bool for_good = true;
};
struct RunFailed {
  JobName job;
  absl::Status status;
};
struct RunFinished {
  JobName job;
  bool complete = false;  // every element was reported out
};
struct JobForgotten {
  JobName job;
};
// The run has so many slots from now on; `last`: and keeps them. Where they are
// fewer than before, order is deterministic and splits are bound again.
struct RunExtended {
  JobName job;
  uint64_t slots = 1;
  bool last = false;
};

// A reader whose session was gone by then said that it had read that run to its
// end or wanted no more of it.
struct RankFinished {
  SessionKey key;
  Incarnation incarnation;
  uint64_t rank = 0;
  RunNumber run;
};

// A reader ended for a reason that counts for the whole run.
struct EndingNoted {
  JobName job;
  RunEnding ending = RunEnding::kNone;
};

// A dataset that readers find by its id, in any job.
struct DatasetRegistered {
  std::string id;
  std::string graph;  // CanonicalText
};

using DispatcherEvent =
    std::variant<JobCreated, RunStarted, ManifestKnown, RunPlanned,
                 SessionOpened, SplitsBound, SplitsTaken, SplitFailed,
                 SplitsEnded, SessionClosed, RunFailed, RunFinished,
                 JobForgotten, RunExtended, RankFinished, EndingNoted,
                 DatasetRegistered>;

// Whether an event may reach the disk up to 200 ms after what follows from it
// was said: peers say again what it holds.
inline bool MayBeLate(const DispatcherEvent& event) {
  return std::holds_alternative<SplitsTaken>(event);
}

// Splits that one event binds: more than a session has at a time.
inline constexpr uint64_t kBoundTogetherMax = 8'192;

// Runs whose slots are remembered; the first are forgotten first.
inline constexpr size_t kRunsMax = 1'000;

// Closed sessions that are remembered; the oldest are forgotten first.
inline constexpr size_t kClosedSessionsMax = 10'000;

struct DispatcherState {
  JournalId journal;
  uint64_t sequence = 0;    // events applied
  uint64_t next_split = 0;  // number of the next SplitId
  std::map<JobName, JobState> jobs;
  std::map<SplitId, SplitState> splits;
  std::map<SessionKey, Incarnation> closed;
  std::deque<SessionKey> closed_order;
  // Jobs without a session, oldest first: what may be forgotten.
  std::set<std::pair<uint64_t, JobName>> idle_jobs;

  std::map<std::string, std::string> datasets;  // graphs by id

  // The one door for changes. REQUIRES: the event follows from this state, as
  // those that the dispatcher commits do.
  void Apply(const DispatcherEvent& event);

  const JobState* FindJob(const JobName& name) const;
  const SessionState* FindSession(const SessionKey& key) const;
  const SplitState* FindSplit(const SplitId& split) const;

  friend bool operator==(const DispatcherState&,
                         const DispatcherState&) = default;

 private:
  void On(const JobCreated& event);
  void On(const RunStarted& event);
  void On(const ManifestKnown& event);
  void On(const RunPlanned& event);
  void On(const SessionOpened& event);
  void On(const SplitsBound& event);
  void On(const SplitsTaken& event);
  void On(const SplitFailed& event);
  void On(const SplitsEnded& event);
  void End(const SplitId& id);
  void On(const SessionClosed& event);
  void On(const RunFailed& event);
  void On(const RunFinished& event);
  void On(const JobForgotten& event);
  void On(const RunExtended& event);
  void On(const RankFinished& event);
  void On(const EndingNoted& event);
  void On(const DatasetRegistered& event);

  void Close(const SessionKey& key, Incarnation incarnation);
  JobState& Job(const JobName& name);
  SessionState& At(const SessionKey& key);
  void DropSplits(JobState& job, SessionState& session);
  void Unbind(JobState& job, SessionState& session);
};

// A name for the event, and what it is about, on one line: for traces.
std::string Describe(const DispatcherEvent& event);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCHER_STATE_H_

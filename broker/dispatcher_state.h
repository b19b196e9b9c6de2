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
#include "broker/scale_memory.h"
#include "core/wire/message.h"

// The durable state of the dispatcher: jobs, runs, sessions and bindings, as
// one comparable value that only events change. Replaying the journal of events
// gives the state. Leases, attempts and addresses are not in it: peers report
// them again.

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
  Cursor taken;  // elements before it reached the client's buffer
  Cursor out;    // elements before it left the buffer; sharers: handed out
  absl::Status error;  // not OK if every attempt failed
  bool served() const { return taken >= end; }
  friend bool operator==(const SplitState&, const SplitState&) = default;
};

struct SessionState {
  Incarnation incarnation;
  Share share;                // its part of the sequence
  Cursor next;                // deterministic: the next split begins here
  std::set<SplitId> splits;   // bound and not ended
  std::set<SplitId> waiting;  // bound and not served; a subset of `splits`
  uint64_t silence = 0;       // eighths of its timeout, see ReaderSilent
  friend bool operator==(const SessionState&, const SessionState&) = default;
};

enum class RunPhase : uint8_t { kPlanning, kRunning, kFinished, kFailed };

// The reason for which the readers ended a run. If the readers' reasons differ,
// the greatest value counts. A journal of version 7 has only the first two
// values: kNone is its "not complete".
enum class RunEnding : uint8_t { kNone, kFinished, kLeft, kCancelled };
RunEnding EndingOf(LeaveReason why);

// A job and its current run. The run's number is its iteration + 1, so that a
// client can create its job again on an emptied store.
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
  RunEnding ending = RunEnding::kNone;  // greatest reason of its readers so far
  absl::Status error;                   // cause of kFailed
  uint64_t source_size = 0;
  uint64_t positions = 0;
  uint64_t first_split = 1;
  PlanId plan;
  // Mode off: number of passes that `positions` consists of; 0 if the graph is
  // read once. Before the run is planned, `passes` is the number that its
  // readers reported. Final: a worker that joins adds no pass.
  uint64_t passes = 0;
  bool settled = false;
  bool sequenced = false;  // the present run: see SequencedGraph
  // Final numbers of passes of earlier runs that a reader may go back to.
  std::map<RunNumber, uint64_t> passes_of;

  std::map<ConsumerId, SessionState> sessions;
  // Deterministic order only.
  //   ranks     number of ranks that share the sequence
  //   finished  by rank: the last run that it read to the end or left
  //   lives     by consumer: its last life, even if that life has ended
  // A rank may be beyond the present run if another rank went back to it.
  uint64_t ranks = 1;
  std::map<uint64_t, RunNumber> finished;
  std::map<ConsumerId, Incarnation> lives;
  uint64_t open_splits = 0;      // of all sessions
  uint64_t ended_positions = 0;  // of ended splits
  uint64_t fresh = 0;            // sharers: first position never bound
  RangePool returned;            // sharers: positions to be bound again
  uint64_t idle_since = 0;       // sequence number when its last session closed

  bool anonymous() const;
  bool over() const {
    return phase == RunPhase::kFinished || phase == RunPhase::kFailed;
  }
  // Bytes of what describes the job, as they were sent.
  uint64_t bytes() const { return graph.size() + manifest.size(); }
  // True if the present run was planned, also if it has ended since.
  bool planned() const { return plan != PlanId(); }
  // True if the rank has finished the present run.
  bool Done(uint64_t rank) const;
  // Number of ranks that have finished the present run.
  uint64_t DoneRanks() const;
  // True if no position is left to bind, not even to a rank that has not joined
  // yet.
  bool exhausted() const;
  // Sharers: the range from which the next split is bound. Returned positions
  // come first. begin ≥ end if no position is left.
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
// The run that was started is a sequenced one
// (core/operators/sequenced_graph.h).
struct RunSequenced {
  JobName job;
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
  uint64_t passes = 0;  // of equal length, of which `positions` consists
};
// A session begins at `start`, or a newer incarnation replaces a session there.
struct SessionOpened {
  SessionKey key;
  Incarnation incarnation;
  Cursor start;
  Share share{};
};
// Splits with consecutive names: [begin, end) in parts of `size` positions. The
// last part may be smaller.
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
// Splits with consecutive names.
struct SplitRange {
  SplitId first;
  uint64_t count = 0;
  SplitId name(uint64_t k) const { return {first.journal, first.number + k}; }
};
// All elements of these splits are out. Ranges are in order of names.
struct SplitsEnded {
  std::vector<SplitRange> ranges;
};
// A session left or was released; its unfinished work is bound again.
// `for_good`: its name must not be opened again.
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
// The run has this number of passes from now on. `last`: the number is final.
// It can become smaller only with deterministic order; splits are then bound
// again.
struct RunExtended {
  JobName job;
  uint64_t passes = 1;
  bool last = false;
};

// A reader reported that it had read the run to its end, or wanted no more of
// it, after its session was closed.
struct RankFinished {
  SessionKey key;
  Incarnation incarnation;
  uint64_t rank = 0;
  RunNumber run;
};

// A reader ended for a reason that applies to the whole run.
struct EndingNoted {
  JobName job;
  RunEnding ending = RunEnding::kNone;
};

// A dataset that readers of any job find by its id.
struct DatasetRegistered {
  std::string id;
  std::string graph;  // CanonicalText
};

// The autoscaler found something that must outlive the dispatcher.
struct ScaleNoted {
  ScaleMemory memory;
};

// Dispatchers of this journal have not heard the session's reader for `eighths`
// of its timeout; 0: it is heard again.
struct ReaderSilent {
  SessionKey key;
  uint64_t eighths = 0;
};
inline constexpr uint64_t kSilenceMax = 8;  // eighths

using DispatcherEvent =
    std::variant<JobCreated, RunStarted, ManifestKnown, RunPlanned,
                 SessionOpened, SplitsBound, SplitsTaken, SplitFailed,
                 SplitsEnded, SessionClosed, RunFailed, RunFinished,
                 JobForgotten, RunExtended, RankFinished, EndingNoted,
                 DatasetRegistered, ScaleNoted, ReaderSilent, RunSequenced>;

// True if an event may reach the disk up to 200 ms after the messages that
// depend on it were sent. Peers repeat the content of such an event.
inline bool MayBeLate(const DispatcherEvent& event) {
  return std::holds_alternative<SplitsTaken>(event);
}

// Maximum number of splits that one event binds. A session never has as many at
// a time.
inline constexpr uint64_t kBoundTogetherMax = 8'192;

// Maximum number of runs whose passes are kept; the first runs are dropped
// first.
inline constexpr size_t kRunsMax = 1'000;

// Maximum number of closed sessions that are kept; the oldest are dropped
// first.
inline constexpr size_t kClosedSessionsMax = 10'000;

struct DispatcherState {
  JournalId journal;
  uint64_t sequence = 0;    // events applied
  uint64_t next_split = 0;  // number of the next SplitId
  std::map<JobName, JobState> jobs;
  // Bytes of all jobs' graphs and manifests. Not recorded.
  uint64_t job_bytes = 0;
  std::map<SplitId, SplitState> splits;
  std::map<SessionKey, Incarnation> closed;
  std::deque<SessionKey> closed_order;
  // Jobs without a session, oldest first. They may be dropped.
  std::set<std::pair<uint64_t, JobName>> idle_jobs;

  std::map<std::string, std::string> datasets;  // graphs by id
  ScaleMemory scale;

  // Applies an event. Only this function changes the state. REQUIRES: the event
  // follows from this state (CheckFollows), as the dispatcher's events do.
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
  void On(const ScaleNoted& event);
  void On(const ReaderSilent& event);
  void On(const RunSequenced& event);

  void Close(const SessionKey& key, Incarnation incarnation);
  JobState& Job(const JobName& name);
  SessionState& At(const SessionKey& key);
  void DropSplits(JobState& job, SessionState& session);
  void Unbind(JobState& job, SessionState& session);
};

// Returns the event's name and subject on one line, for traces.
std::string Describe(const DispatcherEvent& event);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCHER_STATE_H_

#ifndef FEEDMILL_BROKER_DISPATCHER_H_
#define FEEDMILL_BROKER_DISPATCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "broker/autoscaler.h"
#include "broker/dispatcher_snapshot.h"
#include "broker/dispatcher_state.h"
#include "broker/event_ring.h"
#include "broker/fleet_use.h"
#include "broker/job_trace.h"
#include "broker/lease_table.h"
#include "broker/load_window.h"
#include "broker/past_lives.h"
#include "broker/split_sizer.h"
#include "broker/verdict.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Properties of a graph that the dispatcher needs to divide its work.
struct JobShape {
  std::string fingerprint;    // of the graph that workers run
  std::string manifest_hash;  // "" without files
  uint64_t source_size = 0;
  uint64_t positions = 0;    // kEndlessPositions for an infinite graph
  uint64_t first_split = 1;  // positions of the first split, before any
                             // cost is known
  // True if a run has slots, one per worker, with `positions` positions each.
  bool slotted = false;
  uint64_t source_round = 0;  // SourcePlan::round
};

// A readable name of a position that kills workers.
struct PositionName {
  std::string text;  // "record 3 of 'a.csv'"
  // True if the position is skipped (on_error); `records` are then the records
  // that the position would have been made of.
  bool skips = false;
  std::vector<RecordOrigin> records{};
};

// Functions that read graphs. The caller passes them in so that the simulator
// can plan without files. All functions are pure.
struct Planner {
  // Returns a text that is equal for graphs that differ in seed and order only.
  // InvalidArgument for a bad graph.
  std::function<absl::StatusOr<std::string>(const std::string& graph)>
      fingerprint;
  // True if the graph needs a manifest; InvalidArgument for a bad graph.
  std::function<absl::StatusOr<bool>(const std::string& graph)> needs_manifest;
  // `manifest`: bytes of Manifest::Serialize, or "" if none is needed.
  std::function<absl::StatusOr<JobShape>(const std::string& graph,
                                         const std::string& manifest,
                                         uint64_t seed, uint64_t iteration)>
      shape;
  // Returns the graph that workers run in a run with slots, for any number of
  // slots. Null: the graph itself.
  std::function<std::string(const std::string& graph)> run_graph{};
  // True if the number of each element is known before the element is made. The
  // workers then make only a rank's own elements for it. Null: true.
  std::function<bool(const std::string& graph)> numbered{};
  // Returns the name of a position for error messages. Null: its number is the
  // name.
  std::function<PositionName(const std::string& graph,
                             const std::string& manifest, uint64_t seed,
                             uint64_t iteration, uint64_t position)>
      name_position{};
  // Returns the names of a plan's places, indexed by StepCost::place; 1 is the
  // source. If the function is null or the list too short, numbers are used.
  std::function<std::vector<std::string>(const std::string& graph)>
      name_places{};
};

// A line for the operators' log, e.g. a worker joined or a job ended. Each note
// is also an event of the status. The shell limits the log rate of each kind.
struct DispatcherNote {
  using Kind = NoteKind;
  Kind kind = Kind::kJob;
  bool warning = false;
  std::string text;
  std::string job{};
  std::string worker{};
  bool logged = true;  // false: an event only
};

// Effects that the shell carries out after a call. It journals and syncs
// `events`, then sends `sends` and logs `notes`. If every event satisfies
// MayBeLate, no sync is needed.
struct DispatcherEffects {
  std::vector<DispatcherEvent> events;
  std::vector<DispatcherNote> notes;
  // Set if the wanted number of workers changed.
  std::optional<uint64_t> workers_wanted{};
  std::vector<Outgoing> sends;
};

// Returns the name of a job's state in status and metrics: "planning",
// "running", "finished", "left", "cancelled" or "failed".
const char* StateName(const JobState& job);
// Returns JSON: {"bound_by", "where", "gain", "sentence", "evidence"}.
std::string VerdictText(const Verdict& verdict);

// The broker's state machine: jobs, runs, sessions, splits and leases. Pure: no
// clock, socket, thread, file or randomness. Protocol: PROTOCOL.md and
// tests/model/README.md.
//
// Thread: the broker's reactor only. States of a split: unbound → bound →
// leased (1 or 2 attempts) → served → ended.
//
// Every change is sent at once: a call returns one full set for each peer whose
// bindings or leases changed. Workers come before clients, so that a worker has
// its lease when the client's grant arrives. The cost of a call grows with its
// changes; only OnTick visits every peer. Handle messages that arrive together
// in one call, so that each peer gets one answer.
class Dispatcher {
 public:
  // `state`: rebuilt from the journal by replay, or empty for a new journal.
  Dispatcher(DispatcherSettings settings, Planner planner,
             DispatcherState state, absl::Time now);
  virtual ~Dispatcher() = default;

  struct Incoming {
    PeerId from;
    Message message;
  };
  DispatcherEffects Handle(absl::Time now, std::span<const Incoming> messages);
  DispatcherEffects Handle(absl::Time now, const PeerId& from,
                           const Message& message);
  DispatcherEffects OnTick(absl::Time now);
  // Call if the peer's connection has ended. A peer that is silent afterwards
  // counts as dead. A peer that is silent on an open connection may be frozen
  // or cut off.
  void OnPeerGone(const PeerId& peer);
  // Call when all events so far are on disk. Later answers report that to
  // peers.
  void NoteSynced() { synced_ = state_.sequence; }
  // OK, or DataLoss if a peer has seen events of this journal that are not in
  // it. The dispatcher then serves no peer any more.
  const absl::Status& behind() const { return behind_; }
  // Time of the next necessary OnTick; InfiniteFuture if none is necessary.
  absl::Time NextDeadline() const;

  const DispatcherState& state() const { return state_; }
  // Returns the address of a worker; null if the worker is unknown.
  const PeerId* AddressOf(const WorkerId& worker) const;
  // Returns the data of `feedmill status`: {jobs, workers, totals, faults,
  // events}.
  std::string StatusJson(absl::Time now) const;
  // Returns the last events, oldest first: [{id, age_s, kind, warning, text,
  // …}].
  std::string EventsJson(absl::Time now) const;

  // ---- requests of operators
  struct OperatorAnswer {
    absl::Status status;
    DispatcherEffects effects;
  };
  // With `drains`, gives the worker no new splits until a call without
  // `drains`. A restart of the worker or of the dispatcher ends the drain, too.
  // NotFound: there is no worker with that address.
  OperatorAnswer DrainWorker(absl::Time now, const std::string& address,
                             bool drains);
  // Ends the run of a job; its readers get the error Cancelled. NotFound: there
  // is no such job; FailedPrecondition: it is over.
  OperatorAnswer CancelJob(absl::Time now, const JobName& name);

  // Returns the cause for which a job that is not over waits, e.g. "rank 1 of
  // 2". "" if the job waits only for its workers and readers.
  std::string WaitsFor(const JobState& job) const;
  void NoteTransport(const TransportFaults& faults) { transport_ = faults; }
  void NoteShell(const ShellLoad& load) { shell_ = load; }
  // Returns the bound of the job's rate, from the reports of the last five
  // seconds. Nullopt if there is no such job.
  std::optional<Verdict> JudgeJob(absl::Time now, const JobName& name) const;
  // For metrics.
  DispatcherSnapshot Snapshot(absl::Time now) const;

 protected:
  // The simulator plants bugs here; see tests/sim/planted_bugs.h.
  virtual bool IsCurrent(Incarnation known, Incarnation said) const;
  virtual bool IsClosed(const SessionKey& key, Incarnation incarnation) const;
  virtual size_t WindowUsed(const SessionState& session) const;
  virtual SplitId NameSplit(const SessionKey& owner, Cursor begin) const;
  // Returns the reject reason for a beat whose session is not on record.
  virtual RejectReason WhyUnknown(const ClientBeat& beat) const;
  // True if a rank that wants a later run waits for the ranks that are behind.
  virtual bool WaitsForRanks(const ClientHello& hello) const;
  // True if a reader continues the run that it names, and so replaces its own
  // earlier lives.
  virtual bool GoesOn(const ClientHello& hello) const;

 private:
  // State of a client as of its last message. There is one for each session.
  struct Listener {
    PeerId address;  // empty: not heard since the restart
    absl::Time heard;
    std::optional<absl::Time> beat_sent;  // to be answered in this call
    std::vector<LinkReport> links{};      // as last reported
    ReaderWindow window{};                // of its load, as last reported
  };
  // The last message of a rank that has no session: its life, the time, and the
  // run that it waits for. If `heard` is older than the client timeout, the
  // rank may be dead.
  struct RankWord {
    Incarnation incarnation;
    absl::Time heard;
    std::optional<RunNumber> wants{};
  };
  // Ranks that have not finished the run before the run that a rank wants:
  // their number, and the first few of them.
  struct Behind {
    uint64_t count = 0;
    std::vector<uint64_t> ranks{};
  };
  struct RunWork {
    SplitSizer sizer;
    bool dry_told = false;
    bool awaits = false;  // the run is due to be settled, but waits for ranks
    // For ranks that need the same data: position ranges [begin, end) bound to
    // one rank, by begin. The other ranks get splits with the same ranges.
    std::map<uint64_t, uint64_t> ranges{};
  };
  struct PlanWork {
    CostEstimate cost;
    std::set<JobName> jobs;
    // Results of the planner, computed at the first use.
    std::optional<std::string> graph{};  // the graph that workers run
    std::optional<bool> numbered{};
    std::optional<uint64_t> source_round{};
    StepUse steps{};                  // samples, for operators
    std::vector<std::string> places;  // names of places
  };
  // Jobs that wait for the manifest of their graph.
  struct Resolution {
    std::string graph;
    std::optional<WorkerId> worker;
    std::set<JobName> jobs;
  };

  void Take(absl::Time now, const PeerId& from, const Message& message);
  void Commit(DispatcherEvent event);
  DispatcherEffects Finish(absl::Time now);
  void CompareWithSeen(const Message& message);
  void RefuseAsBehind(const PeerId& from, const Message& message);

  // ---- clients (dispatcher_clients.cc)
  void On(absl::Time now, const PeerId& from, const ClientHello& hello);
  void On(absl::Time now, const PeerId& from, const ClientBeat& beat);
  void On(absl::Time now, const PeerId& from, const ClientLeave& leave);
  absl::Status CheckHello(const ClientHello& hello) const;
  bool FindsUnread(absl::Time now, const ClientHello& hello) const;
  absl::Status CheckReader(absl::Time now, const ClientHello& hello) const;
  absl::Status PrepareJob(const ClientHello& hello);
  absl::Status CreateJob(const ClientHello& hello);
  void StartRun(const JobName& job, RunNumber run);
  void OpenSession(absl::Time now, const ClientHello& hello);
  void NoteEnding(const JobState& job, LeaveReason why);
  void Oust(const SessionKey& key, const ClientHello& by);
  void TakeReports(absl::Time now, const SessionKey& key,
                   const std::vector<SplitReport>& reports);
  void EndSplits(std::vector<SplitId>& splits);
  void CloseSession(const SessionKey& key, bool for_good);
  void AnswerAwaiting(const PeerId& to, const ClientHello& hello,
                      const JobState& job, Behind behind);
  void Refuse(const PeerId& to, const ClientHello& hello,
              const absl::Status& status);
  void Reject(const PeerId& to, const JobName& job, const Session& session,
              RejectReason reason, absl::Status detail = absl::OkStatus());
  void RejectOver(const PeerId& to, const JobName& job, const Session& session,
                  RejectReason reason);
  RejectReason WhyClosed(const JobName& name) const;

  // ---- datasets with an id (dispatcher_datasets.cc)
  void On(const PeerId& from, const DatasetRequest& request);
  absl::Status CheckNewDataset(const DatasetRequest& request) const;

  // ---- workers (dispatcher_workers.cc)
  void On(absl::Time now, const PeerId& from, const WorkerBeat& beat);
  void LoseRenamed(const PeerId& from, const WorkerId& name);
  bool WantsAnswer(const KnownWorker& worker, const WorkerBeat& beat) const;
  void TakeFailure(const WorkerId& worker, const LeaseFailure& failure);
  void TakeManifest(absl::Time now, const ManifestResult& result);
  void LoseWorker(const WorkerId& id, bool died, const std::string& why);
  void Advance(const SplitId& split);
  void Blame(const SplitId& split);
  void AssignResolutions();

  // ---- runs and splits
  void PlanRun(absl::Time now, const JobName& job);
  const std::string& RunGraph(const JobState& job);
  uint64_t SourceRound(const JobState& job);
  void AwaitManifest(const JobState& job);
  void StopAwaiting(const JobState& job);
  void FailRun(const JobName& job, const absl::Status& status);
  void FinishRun(const JobName& job, bool complete);
  void FinishIfComplete(absl::Time now, const JobName& job);
  // … with slots (dispatcher_slots.cc)
  uint64_t SlotsNow() const;
  void GrowRuns();
  void Extend(const JobName& job, uint64_t slots, bool last);
  void LearnSlots(const ClientHello& hello);
  void SettleIfDue(absl::Time now, const JobName& job);
  absl::Status CheckSlots(const ClientHello& hello, const JobState& job) const;
  void NoteBegunBefore(absl::Time now, const ClientHello& hello);
  void AwaitRanks(const JobState& job, absl::Time since);
  bool AwaitsRanks(absl::Time now, const JobState& job) const;
  void SettleWithoutSilent(absl::Time now);
  void ForgetJob(const JobName& job);
  void BeginWork(const JobState& job);
  void DropWork(const JobState& job);
  void DropWork(const SessionState& session);
  void BindAll(absl::Time now);
  void BindJob(absl::Time now, const JobName& job);
  void Bind(absl::Time now, const SessionKey& key);
  bool BindSome(absl::Time now, const SessionKey& key, RunWork& work,
                uint64_t room);
  void Reindex(const SessionState& session);
  void NoteStall(absl::Time now);
  void LoseSilentWorkers(absl::Time now);
  void ReleaseSilentSessions(absl::Time now);
  void RetryHead(absl::Time now, const SessionKey& key);
  void TellIfDry(const JobName& job);
  // … of ranks (dispatcher_ranks.cc)
  uint64_t SplitSize(const JobState& job, Cursor begin, uint64_t remaining,
                     const RunWork& work, SplitSizer& sizer);
  bool Together(const JobState& job);
  std::optional<Kin> Remember(const JobState& job, const SplitId& split,
                              RunWork& work);
  Behind RanksBehind(absl::Time now, const ClientHello& hello,
                     const JobState& job) const;
  static Behind RanksUnmet(const JobState& job);
  struct RanksLeft {
    std::vector<uint64_t> missing;  // neither connected nor at the end
    std::vector<uint64_t> reading;
    bool next_is_asked_for = false;  // a rank waits for the next run
  };
  RanksLeft RanksToEnd(const JobState& job) const;
  void NoteWord(const JobState& job, uint64_t rank, RankWord word);
  void NoteAllRanks(absl::Time now, const JobState& job);
  void NoteRunsEnd(const JobState& job);
  void NoteLastLife(absl::Time now, const JobName& job, const Session& session);
  void NoteLateLeave(absl::Time now, const ClientLeave& leave);
  void ForgetSilentRanks(absl::Time now);
  void ForgetWords(const JobName& job);

  // ---- loads, for operators (dispatcher_loads.cc)
  void TakeLoad(absl::Time now, const JobName& job, Listener& listener,
                const ReaderLoad& load);
  void TakeLoad(absl::Time now, KnownWorker& worker, const WorkerLoad& load);
  static void NoteComputed(KnownWorker& worker,
                           const std::vector<PlanCost>& costs);
  // … and for the number of workers (dispatcher_scale.cc)
  void LookAtScale(absl::Time now);
  std::string ScaleKey(const JobState& job) const;
  ScaleFigures FiguresOf(absl::Time now, uint64_t workers) const;
  // Adds to the status: the threads of workers that are busy for the job, and
  // the job's streams.
  static void AddThreadUse(const JobState& job, const FleetUse& fleet,
                           nlohmann::ordered_json& entry);
  // Returns for the status: the workers' time by step of the job.
  nlohmann::ordered_json StepsOf(const JobState& job) const;
  VerdictInput InputOf(absl::Time now, const JobState& job,
                       const FleetUse& fleet) const;
  VerdictInput::Reader InputOf(absl::Time now, const SessionKey& key,
                               const SessionState& session) const;
  std::string PlaceName(const PlanWork& plan, uint32_t place) const;
  JobSnapshot SnapshotOf(absl::Time now, const JobState& job,
                         const FleetUse& fleet) const;

  // ---- notes for the log (dispatcher_notes.cc)
  void NoteJoined(const WorkerBeat& beat);
  void NoteLost(const WorkerId& id, const KnownWorker& worker,
                const std::string& why);
  void NoteDrains(const WorkerId& id, const KnownWorker& worker);
  void NoteJobBegan(const JobState& job);
  void NoteJobEnded(const JobState& job, RunEnding ending);
  void NoteReaderSilent(const SessionKey& key, absl::Duration silent);
  void NoteReader(const JobName& job, std::string text);
  void NoteAttempt(const WorkerId& worker, const LeaseFailure& failure,
                   bool last);
  void NoteRetry(const SessionKey& key, const WorkerId& slow,
                 absl::Duration stood);
  void NoteSkipped(const JobName& job, uint64_t elements, uint64_t all);
  void KeepEvents(absl::Time now);

  // ---- traces (dispatcher_trace.cc)
  void On(absl::Time now, const PeerId& from, const TraceRequest& request);
  absl::Status BeginTrace(absl::Time now, const TraceRequest& request);
  void EndTraces(absl::Time now);
  void TellOfTrace(const JobName& job);
  void TraceLeases(absl::Time now, JobTrace& trace, const SplitId& id);
  void TraceChanges(absl::Time now, const std::vector<SplitId>& changed);
  void TakeSpans(absl::Time now, const SessionKey& key, Incarnation incarnation,
                 const SpanBatch& batch);
  void TakeSpans(absl::Time now, const WorkerBeat& beat);
  // Returns the id of the job's trace; 0 if the job is not traced now.
  uint64_t TraceOf(absl::Time now, const JobName& job) const;
  std::optional<TraceOrder> OrderToTrace(absl::Time now) const;
  std::optional<TraceOrder> OrderToTrace(absl::Time now,
                                         const JobName& job) const;
  std::vector<std::string> PlacesOf(const JobState& job);

  // ---- answers
  void AnswerClient(absl::Time now, const SessionKey& key, Listener& listener);
  void AnswerWorker(absl::Time now, const WorkerId& id, KnownWorker& worker);
  absl::Duration Interval() const;
  absl::Duration Timeout(absl::Duration least) const;
  absl::Duration ClientTimeout(const JobState& job) const;
  bool LeaseValid(absl::Time now, const SessionKey& key) const;
  Seen seen() const { return {state_.journal, synced_}; }
  void Send(const PeerId& to, Message message);

  const DispatcherSettings settings_;
  const Planner planner_;
  DispatcherState state_;
  uint64_t synced_;  // number of events on disk when the sends are sent
  absl::Status behind_;
  const absl::Time began_;
  bool follows_ = false;  // peers have seen the journal of another store
  // No lease is given before this time: after a restart peers report first.
  absl::Time lease_from_;
  absl::Time next_tick_;
  // heard_from_: end of the last stall, from which on peers are heard again.
  // judge_from_: until then, a peer that was not heard since the stall may not
  // be judged dead.
  absl::Time heard_from_ = absl::InfinitePast();
  absl::Time judge_from_ = absl::InfinitePast();
  // No worker was last heard before this time.
  absl::Time oldest_heard_ = absl::InfinitePast();

  LeaseTable table_;
  std::map<PeerId, WorkerId> worker_at_;  // by address
  std::map<SessionKey, Listener> listeners_;
  std::map<JobName, RunWork> runs_;
  // Jobs whose run another store may have settled before this one. The value is
  // the time until which the dispatcher waits for ranks that this store has not
  // met.
  std::map<JobName, absl::Time> begun_before_;
  std::map<PlanId, PlanWork> plans_;
  PastCosts past_costs_;
  std::map<std::string, Resolution> resolutions_;  // by fingerprint
  // Lives that were refused. A late copy of their hello must not open a
  // session: its client has ended and would never read from it.
  PastLives refused_;
  PastLives ousted_;  // lives that another life has replaced
  std::map<std::pair<JobName, uint64_t>, RankWord> rank_words_;
  absl::Time forget_words_ = absl::InfinitePast();  // next ForgetSilentRanks

  DispatcherFaults faults_;
  // Workers that were lost, with their last life. The log names a worker that
  // comes back as such. The oldest entries are dropped first.
  std::map<WorkerId, Incarnation> lost_;
  std::deque<WorkerId> lost_order_;
  TransportFaults transport_;
  ShellLoad shell_;
  Autoscaler autoscaler_;
  EventRing events_;
  std::map<JobName, JobTrace> traces_;  // empty unless a job is traced
  // Sums of readers' reports by job, for operators. Jobs without a name share
  // the entry "".
  std::map<JobName, JobTotals> totals_;

  // Effects and changes of the present call.
  DispatcherEffects effects_;
  std::map<PeerId, ClientAnswer> awaiting_;  // ranks that have no session
  std::set<SessionKey> dirty_sessions_;
  std::map<WorkerId, KnownWorker*> dirty_workers_;  // null: look it up
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCHER_H_

#ifndef FEEDMILL_TESTS_SIM_WORLD_H_
#define FEEDMILL_TESTS_SIM_WORLD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/fake_plan.h"
#include "tests/sim/network.h"
#include "tests/sim/random.h"
#include "tests/sim/simulation.h"

namespace feedmill::sim {

// The job that the reading applications share, as ranks or by turns.
inline const JobName kReadersJob{"job"};

// The processes of a simulation and the checks on them. Five parts: processes
// (world.cc), the dispatcher's process (world_dispatcher.cc), reading
// applications (world_readers.cc), applications that share a job
// (world_sharers.cc), and faults (world_faults.cc).
class World {
 public:
  explicit World(const Options& options);

  Result Run();

 private:
  // Durations of tasks on a worker. kSlow: milliseconds. kFast: memory speed.
  // kBetween: alternately just dear and just cheap. kSlower: first no time,
  // then milliseconds.
  enum class Speed : uint8_t { kSlow, kFast, kBetween, kSlower };
  struct WorkerProcess {
    std::string name;  // its data address
    std::unique_ptr<WorkerAgent> core;
    uint64_t life = 0;
    absl::Duration skew;  // of its clock
    bool up = true;
    bool leaving = false;  // draining
    bool fit = true;  // its interpreter can run the plan's Python functions
    absl::Time thaw;
    absl::Time wake = absl::InfiniteFuture();
    int64_t slowness = 1;
    uint32_t threads = 1;
    Speed speed = Speed::kSlow;
    bool dear = true;  // kBetween: the next tasks
    absl::Time flaky_until;
    std::vector<absl::Time> free_at;     // each thread
    std::map<PlanId, uint64_t> defined;  // its iteration
    std::set<Cursor> states;             // of the generator
    std::set<TaskId> stopped;
  };
  struct ReaderProcess {
    std::string name;  // its transport's address
    std::unique_ptr<ReadSession> core;
    uint64_t life = 0;
    absl::Duration skew;  // of its clock
    absl::Time thaw;
    absl::Time wake = absl::InfiniteFuture();
    bool zombie = false;    // replaced: its output is ignored
    bool intruder = false;  // joined without taking over
    bool let_in = false;    // an intruder that is the main reader now
    bool side = false;      // of the other job
    bool take_over = false;
    bool follows = false;      // a process's second reader, which was admitted
    bool left_behind = false;  // other ranks may have continued without it
    bool done = false;         // reads no more
    absl::Time exit = absl::InfiniteFuture();
    uint64_t batch = 1;
    // The application: rows pulled and not handed out, and their counts.
    std::deque<ElementName> staged;
    std::vector<GeneratorStatePtr> states;  // of pulled pieces
    std::deque<ElementName> given;  // sharing readers: given and not used
    uint64_t pulled = 0;
    uint64_t handed = 0;
    uint64_t drops = 0;
    absl::Status error;  // follows the staged elements
    // Deterministic order: reference indices of the next element to pull and
    // the next one to hand out.
    uint64_t next = 0;
    uint64_t expected = 0;
    Share share;
    bool resumed = false;             // started from a token
    std::optional<uint64_t> epoch{};  // the iteration that it requested
    size_t member = 0;  // the rank, or the index of a sharing reader
  };
  // The token of an application: the position just after an element.
  struct Token {
    RunNumber run;
    Cursor cursor;
    uint64_t number = 0;
    uint64_t passes = 0;
    bool settled = false;
    GeneratorStatePtr state{};  // leads to `cursor`
  };
  // A stored token, and the number of iterations left at that time.
  struct Checkpoint {
    Token token;
    uint64_t iterations = 0;
  };
  // A reader that reached its end. The member's next reader belongs to the same
  // process and sends its unacknowledged leaves.
  struct Former {
    std::string name;
    bool refused = false;
    std::vector<ClientLeave> unsaid{};
  };
  struct Handed {
    std::string consumer;
    absl::Time when;
  };
  // Times at which a closed session was last heard of and was closed. Elements
  // handed out in between may come again (rule 25).
  struct Closed {
    absl::Time last_report;
    absl::Time closed;
  };
  // The dispatcher's knowledge of reports and closed sessions.
  struct Books {
    std::map<ConsumerId, absl::Time> last_report;
    std::map<std::string, Closed> closed;
  };
  // A dispatcher that stood still while a standby took over.
  struct FormerDispatcher {
    std::unique_ptr<Dispatcher> core;
    absl::Duration skew;
    absl::Time thaw;
    absl::Time end;
    std::map<std::string, absl::Time>
        stuck;  // peers that talk to it until then
  };
  enum class CrashPoint : uint8_t { kBeforeSync, kBeforeSends, kAmongSends };

  static constexpr char kDispatcher[] = "dispatcher";
  static constexpr char kRegistrar[] = "registrar";
  static constexpr char kTracer[] = "tracer";

  // ---- processes
  std::optional<absl::Time> Deliver(const std::string& from,
                                    const std::string& to,
                                    const Message& message);
  void StepWorker(WorkerProcess& worker, WorkerEffects effects);
  void ArmWorker(WorkerProcess& worker);
  void OnWorker(const std::string& name, uint64_t life,
                std::function<void(WorkerProcess&)> action);
  void Compute(WorkerProcess& worker, const ComputeRequest& request);
  void BeginTask(WorkerProcess& worker, uint64_t iteration,
                 const ComputeRequest& request);
  void CheckState(const Message& message);
  absl::Duration BusyOf(WorkerProcess& worker, const ComputeRequest& request,
                        const Piece& piece);
  // Maximum size of a worker's frame, without its last position.
  uint64_t FrameMax() const;
  void StepReader(ReaderProcess& reader, ReadEffects effects);
  void ArmReader(ReaderProcess& reader);
  void StartWorker(const std::string& name);
  void KillWorker(WorkerProcess& worker, absl::Duration revive_after);

  // ---- the dispatcher
  void TellDispatcher(const std::string& from, const Message& message);
  void EndTurn();
  void StepDispatcher(DispatcherEffects effects);
  void Say(std::vector<Outgoing> sends);
  void CheckFit(const PeerId& to, const WorkerAnswer& answer);
  void ArmDispatcher();
  void WakeDispatcher();
  void Sync();
  void BeginSync();
  void EndSyncAfter(absl::Duration time, size_t end, Books books,
                    absl::Time begun);
  void Release();
  DispatcherState Replay();
  void CheckReplay();
  void CheckJournal();
  void StartDispatcher(bool wiped);
  void KillDispatcher();
  void RewindBooks();
  void LoseUnsynced();
  void DispatcherFault(bool wipe);
  void RestartSharers();
  void CheckEvent(const DispatcherEvent& event);
  void CheckPasses(const RunExtended& event);
  void CheckSettled(const RunExtended& event, const JobState& job);
  void NotePasses(const ClientHello& hello);
  void NoteSeen(const Message& message);
  uint64_t KnownPasses(size_t member, RunNumber run) const;

  // ---- standbys (world_standby.cc)
  void TakeOverLater();
  void TakeOver();
  bool IsStuck(const std::string& peer) const;
  std::optional<absl::Time> TellFormer(const std::string& from,
                                       const Message& message);

  // ---- applications
  ReaderProcess& StartReader(bool take_over, size_t member, bool resume = false,
                             bool side = false,
                             std::optional<Former> former = std::nullopt);
  std::optional<Former> EndFormer(size_t member);
  void LetExit(const ReaderProcess& reader);
  void StartSide(bool take_over, absl::Duration delay, bool resume = false);
  void OnSideOver(ReaderProcess& reader);
  void SideFault(bool freeze);
  void CheckReadAll(const ReaderProcess& reader);
  bool Shared(const ReaderProcess& reader) const {
    return order_ == Order::kAny && !reader.side;
  }
  void KillReader(const std::string& name);
  void Application(const std::string& name);
  void PullAndHandOut(ReaderProcess& reader);
  bool Stage(ReaderProcess& reader, const ElementName& element);
  void Check(ReaderProcess& reader, const ElementName& element);
  void GiveChunk(ReaderProcess& reader);
  void UseGiven(ReaderProcess& reader);
  void CheckSharer(ReaderProcess& reader, Cursor cursor);
  void OnReaderOver(ReaderProcess& reader);
  uint64_t EndOf(const ReaderProcess& reader);
  void OnMainOver(ReaderProcess& reader);
  void EndIteration();
  void StartMainLater(bool take_over, absl::Duration delay,
                      bool resume = false);
  void StartRanks(uint64_t ranks, absl::Duration within);
  void StartRankLater(size_t member, absl::Duration delay);
  void OnRankOver(ReaderProcess& reader);
  void GoBack(size_t member);
  void ChangeRanks();
  std::optional<Checkpoint> MergeTokens() const;
  void StartSharerLater(size_t member, absl::Duration delay);
  bool OtherSharerLives(size_t member) const;
  void KillLateSharer();
  void TakeBackFromIntruder(ReaderProcess& opener, bool side);
  void CheckOpened(const SessionOpened& event);
  void CheckRunStarted(const RunStarted& event);
  bool MayBeLeftBehind(const JobState& job, size_t member, RunNumber run) const;
  // Iteration of a rank's application.
  uint64_t IterationOf(size_t member) const {
    return iterations_left_ - rank_iterations_[member];
  }
  // Iteration of a reader's application. REQUIRES: order deterministic.
  uint64_t EpochOf(const ReaderProcess& reader) const {
    if (reader.side) return 0;
    return in_ranks_ ? IterationOf(reader.member)
                     : iterations_ - iterations_left_;
  }
  bool Finished();
  bool MainFinished() const;
  bool RunIsOver() const;
  bool RunIsDry() const;

  // ---- faults
  void DrawFaults();
  void NextFault();
  void Heal();
  void Watch();
  void Fault(const std::string& kind);
  void BreakFault();
  void PartitionFault();
  void WorkerFault(const std::string& kind);
  void ReaderFault(const std::string& kind);
  WorkerProcess* AnyWorker();
  ReaderProcess* AnyReader();

  // ---- datasets that are registered (world_datasets.cc)
  void AskRegistry();
  void TakeReply(const DatasetReply& reply);
  void CheckDatasets();

  // ---- traces of jobs (world_traces.cc)
  void AskForTrace();
  void TakeTrace(const TraceReport& report);
  void CheckClocks(const TraceReport& report);

  void Fail(std::string violation);
  void Trace(const std::string& line);
  absl::Time now() const { return timeline_.now(); }
  // The time on a process's own clock; clocks need not agree.
  absl::Time ClockOf(const auto& process) const { return now() + process.skew; }
  absl::Duration DrawSkew() {
    return absl::Milliseconds(
        random_.Choice<int64_t>({0, 0, 700, -40'000, 86'400'000}));
  }

  const Options& options_;
  Random random_;
  std::optional<Random> speeds_;     // speeds of tasks, if they may be cheap
  std::optional<Random> pythons_;    // of interpreters, if the plan needs one
  std::optional<Random> slow_disk_;  // of syncs of the dispatcher's disk
  std::optional<Random> standby_;    // of takeovers, if there is a standby
  std::optional<Random> registrar_;  // of the process that registers datasets
  std::map<std::string, std::string> registered_;  // acknowledged, by id
  std::optional<Random> tracer_;  // of the tool that traces jobs
  TraceRequest trace_;            // 0: none
  uint64_t traces_ = 0;
  FakePlan plan_;
  Timeline timeline_;
  std::unique_ptr<Network> network_;
  Result result_;

  Order order_ = Order::kDeterministic;
  uint64_t iterations_ = 1;
  uint64_t iterations_left_ = 1;
  bool names_epochs_ = false;  // readers without a token name their iteration
  absl::Time iteration_began_ = absl::UnixEpoch();
  size_t sharers_ = 0;
  bool slow_use_ = false;  // sharing applications use one element at a time
  // Ranks of one sequence: the member of a rank is its number. Each has its own
  // number of iterations left.
  bool in_ranks_ = false;
  bool ranks_take_over_ = false;  // whenever they are started
  uint64_t first_life_ = 0;       // of the present application
  uint64_t ranks_ = 1;
  uint64_t ranks_base_ = 0;  // the number at which they began together
  uint64_t ranks_base_iterations_ =
      0;                      // … and the iterations left at that time
  uint64_t application_ = 0;  // number of restarts of the whole application
  std::vector<uint64_t> rank_iterations_;
  // Ranks whose process died before the dispatcher acknowledged the end of an
  // earlier iteration. They may be given that iteration again (P-171).
  std::set<size_t> lost_leaves_;
  std::vector<std::optional<Token>> tokens_;  // deterministic order, by member
  std::vector<std::optional<Checkpoint>>
      checkpoints_;                   // older tokens, by member
  std::optional<Checkpoint> merged_;  // of all ranks, at their last change
  std::optional<Token> base_token_;   // where the ranks began together
  // For the present dispatcher: since when it may know that the run was read
  // before, and the numbers of passes that ranks reported as final.
  std::optional<absl::Time> begun_before_;
  std::map<size_t, std::pair<RunNumber, uint64_t>> reported_passes_;
  // Also reports of replaced incarnations.
  std::set<std::pair<RunNumber, uint64_t>> heard_passes_;
  // Ranks that know another number of passes than the final one.
  std::set<size_t> passed_over_;
  // A second job of the same graph, with one reader that reads it once.
  bool main_left_ = true;
  bool two_jobs_ = false;
  bool side_left_ = false;
  std::string side_;
  uint64_t side_seed_ = 0;
  std::optional<Token> side_token_;
  uint64_t budget_ = 0, quota_ = 0, memory_ = 0, frame_bytes_ = 0;
  absl::Duration pace_;
  std::vector<std::string> faults_;
  absl::Duration fault_gap_;
  bool healed_ = false;
  uint64_t lives_ = 0;

  DispatcherSettings settings_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::optional<FormerDispatcher> former_dispatcher_;
  bool dispatcher_up_ = false;
  uint64_t dispatcher_life_ = 0;
  absl::Duration dispatcher_skew_;
  absl::Time dispatcher_began_;
  std::map<uint64_t, absl::Duration> skews_;  // clock skews of readers, by life
  // by reader's life: the dispatcher's life that refused it
  std::map<uint64_t, uint64_t> refused_;
  absl::Time dispatcher_wake_ = absl::InfiniteFuture();
  absl::Time dispatcher_thaw_ = absl::InfinitePast();
  std::optional<CrashPoint> crash_;  // point at which it will die
  bool wipe_ = false;                // and lose its store
  JournalId journal_;
  uint64_t journals_ = 0;
  // its events; those from synced_ on may be lost
  std::vector<std::string> disk_;
  size_t synced_ = 0;
  bool sync_due_ = false;
  // Messages of a call, which wait until `after` events are on disk.
  struct HeldTurn {
    size_t after = 0;
    bool speaks = false;
    std::vector<Outgoing> sends;
  };
  std::deque<HeldTurn> held_;
  size_t needed_ = 0;  // events on which the messages of the last call depend
  bool syncing_ = false;
  absl::Duration sync_max_;
  DispatcherState replica_;  // state from applying the events again
  uint64_t replay_checks_due_ = 0;
  Books books_;
  // State before the present call: a report may be newer than its hello.
  std::map<ConsumerId, absl::Time> reports_before_;
  Books synced_books_;                          // as durable as the disk
  std::vector<Dispatcher::Incoming> incoming_;  // of the present call
  absl::Duration turn_;           // time to wait for more messages
  std::set<ConsumerId> leaving_;  // sessions whose leave is being handled

  std::map<std::string, WorkerProcess> workers_;
  std::map<std::string, ReaderProcess> readers_;
  std::string main_;  // deterministic order: the reader that is checked
  bool main_coming_ = false;
  std::map<size_t, Former> former_;   // deterministic order, by member
  std::vector<std::string> members_;  // reader of each member, or ""
  bool late_death_ = false;  // a reader dies when no split is left to bind
  std::map<Cursor, Handed> handed_;
  // Ends of runs, known from ranks that reached them or (sharing readers) from
  // the dispatcher. With ranks they survive an emptied store.
  std::map<RunNumber, uint64_t> ends_;
  std::optional<absl::Time> finished_at_;
};

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_WORLD_H_

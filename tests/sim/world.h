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

// The processes of a simulation, and what is checked of them. Five parts:
// processes (world.cc), the dispatcher's (world_dispatcher.cc), the
// applications that read (world_readers.cc), what is special to those that
// share a job (world_sharers.cc) and the faults (world_faults.cc).
class World {
 public:
  explicit World(const Options& options);

  Result Run();

 private:
  // How long tasks take on a worker: milliseconds; as long as memory is read;
  // about as long as makes them dear or cheap, now this, now that; no time at
  // first and then milliseconds.
  enum class Speed : uint8_t { kSlow, kFast, kBetween, kSlower };
  struct WorkerProcess {
    std::string name;  // its data address
    std::unique_ptr<WorkerAgent> core;
    uint64_t life = 0;
    absl::Duration skew;  // of its clock
    bool up = true;
    bool leaving = false;  // draining
    absl::Time thaw;
    absl::Time wake = absl::InfiniteFuture();
    int64_t slowness = 1;
    uint32_t threads = 1;
    Speed speed = Speed::kSlow;
    bool dear = true;  // kBetween: the next tasks
    absl::Time flaky_until;
    std::vector<absl::Time> free_at;     // each thread
    std::map<PlanId, uint64_t> defined;  // its iteration
  };
  struct ReaderProcess {
    std::string name;  // its transport's address
    std::unique_ptr<ReadSession> core;
    uint64_t life = 0;
    absl::Duration skew;  // of its clock
    absl::Time thaw;
    absl::Time wake = absl::InfiniteFuture();
    bool zombie = false;    // replaced: nobody counts its output
    bool intruder = false;  // came without taking over
    bool side = false;      // of the other job
    bool take_over = false;
    bool follows = false;      // one of its process, which was let in
    bool left_behind = false;  // others may have gone on without it
    bool done = false;         // wants no more
    absl::Time exit = absl::InfiniteFuture();
    uint64_t batch = 1;
    // The application: rows pulled and not handed out, and how many were.
    std::deque<ElementName> staged;
    std::deque<ElementName> given;  // sharers: what it has and did not use
    uint64_t pulled = 0;
    uint64_t handed = 0;
    uint64_t drops = 0;
    absl::Status error;  // came after what is staged
    // Deterministic: numbers in the reference, of what is pulled next and of
    // what is handed out next.
    uint64_t next = 0;
    uint64_t expected = 0;
    Share share;
    bool resumed = false;             // from a token
    std::optional<uint64_t> epoch{};  // the iteration that it asked for
    size_t slot = 0;                  // sharers and ranks
  };
  // What an application saves of its reader: the place just after an element.
  struct Token {
    RunNumber run;
    Cursor cursor;
    uint64_t number = 0;
    uint64_t slots = 0;
    bool settled = false;
  };
  // A token that was kept, and how many passes were left then.
  struct Checkpoint {
    Token token;
    uint64_t passes = 0;
  };
  // A reader that came to its end: the next of that slot is of the same
  // process, and says the leaves that nobody acknowledged.
  struct Former {
    std::string name;
    bool refused = false;
    std::vector<ClientLeave> unsaid{};
  };
  struct Handed {
    std::string consumer;
    absl::Time when;
  };
  // When a closed session was last heard of and when it was closed: what it
  // handed out in between may come again (rule 25).
  struct Closed {
    absl::Time last_report;
    absl::Time closed;
  };
  // What the dispatcher was told and decided, as far as it remembers.
  struct Books {
    std::map<ConsumerId, absl::Time> last_report;
    std::map<std::string, Closed> closed;
  };
  enum class CrashPoint : uint8_t { kBeforeSync, kBeforeSends, kAmongSends };

  static constexpr char kDispatcher[] = "dispatcher";

  // ---- processes
  std::optional<absl::Time> Deliver(const std::string& from,
                                    const std::string& to,
                                    const Message& message);
  void StepWorker(WorkerProcess& worker, WorkerEffects effects);
  void ArmWorker(WorkerProcess& worker);
  void OnWorker(const std::string& name, uint64_t life,
                std::function<void(WorkerProcess&)> action);
  void Compute(WorkerProcess& worker, const ComputeRequest& request);
  absl::Duration BusyOf(WorkerProcess& worker, const ComputeRequest& request,
                        const Piece& piece);
  // The most that a worker puts into a frame, but for its last position.
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
  void ArmDispatcher();
  void WakeDispatcher();
  void Sync();
  DispatcherState Replay();
  void CheckReplay();
  void CheckJournal();
  void StartDispatcher(bool wiped);
  void KillDispatcher();
  void RewindBooks();
  void DispatcherFault(bool wipe);
  void RestartSharers();
  void CheckEvent(const DispatcherEvent& event);
  void CheckSlots(const RunExtended& event);
  void CheckSettled(const RunExtended& event, const JobState& job);
  void NoteWordOfSlots(const ClientHello& hello);
  void NoteSeen(const Message& message);
  uint64_t KnownSlots(size_t slot, RunNumber run) const;

  // ---- applications
  ReaderProcess& StartReader(bool take_over, size_t slot, bool resume = false,
                             bool side = false,
                             std::optional<Former> former = std::nullopt);
  std::optional<Former> EndFormer(size_t slot);
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
  void EndPass();
  void StartMainLater(bool take_over, absl::Duration delay,
                      bool resume = false);
  void StartRanks(uint64_t ranks, absl::Duration within);
  void StartRankLater(size_t slot, absl::Duration delay);
  void OnRankOver(ReaderProcess& reader);
  void GoBack(size_t slot);
  void ChangeRanks();
  std::optional<Checkpoint> MergeTokens() const;
  void StartSharerLater(size_t slot, absl::Duration delay);
  bool OtherSharerLives(size_t slot) const;
  void KillLateSharer();
  void CheckOpened(const SessionOpened& event);
  void CheckRunStarted(const RunStarted& event);
  bool MayBeLeftBehind(const JobState& job, size_t slot, RunNumber run) const;
  // Where the application of a rank is.
  uint64_t IterationOf(size_t slot) const {
    return passes_left_ - rank_passes_[slot];
  }
  // Where the application of a reader is. REQUIRES: order deterministic.
  uint64_t EpochOf(const ReaderProcess& reader) const {
    if (reader.side) return 0;
    return in_ranks_ ? IterationOf(reader.slot) : passes_ - passes_left_;
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

  void Fail(std::string violation);
  void Trace(const std::string& line);
  absl::Time now() const { return timeline_.now(); }
  // What the clock of a process says; no two need agree.
  absl::Time ClockOf(const auto& process) const { return now() + process.skew; }
  absl::Duration DrawSkew() {
    return absl::Milliseconds(
        random_.Choice<int64_t>({0, 0, 700, -40'000, 86'400'000}));
  }

  const Options& options_;
  Random random_;
  std::optional<Random> speeds_;  // where tasks may be cheap: theirs
  FakePlan plan_;
  Timeline timeline_;
  std::unique_ptr<Network> network_;
  Result result_;

  Order order_ = Order::kDeterministic;
  uint64_t passes_ = 1;
  uint64_t passes_left_ = 1;
  bool names_epochs_ = false;  // readers without a token name their iteration
  absl::Time pass_began_ = absl::UnixEpoch();
  size_t sharers_ = 0;
  bool slow_use_ = false;  // sharers' applications use one element at a time
  // Ranks of one sequence, a slot each, and what each has left to read.
  bool in_ranks_ = false;
  bool ranks_take_over_ = false;  // each time that they are started
  uint64_t first_life_ = 0;       // of the present application
  uint64_t ranks_ = 1;
  uint64_t ranks_base_ = 0;         // the number where they began together
  uint64_t ranks_base_passes_ = 0;  // … in the pass with so many left
  uint64_t application_ = 0;        // how often it was restarted as a whole
  std::vector<uint64_t> rank_passes_;
  std::vector<std::optional<Token>> tokens_;  // deterministic, by slot
  std::vector<std::optional<Checkpoint>> checkpoints_;  // older ones, by slot
  std::optional<Checkpoint> merged_;  // of all ranks, when their number changed
  std::optional<Token> base_token_;   // where they began together
  // Of the present dispatcher: since when it may know that the run was read
  // before, and with how many slots ranks told it that the run is settled.
  std::optional<absl::Time> begun_before_;
  std::map<size_t, std::pair<RunNumber, uint64_t>> said_slots_;
  // Also by lives that were replaced.
  std::set<std::pair<RunNumber, uint64_t>> heard_slots_;
  // Ranks that know another number of slots than the dispatcher settled with.
  std::set<size_t> passed_over_;
  // Another job, of the same graph, and its one reader, which reads it once.
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
  bool dispatcher_up_ = false;
  uint64_t dispatcher_life_ = 0;
  absl::Duration dispatcher_skew_;
  absl::Time dispatcher_began_;
  std::map<uint64_t, absl::Duration> skews_;  // of readers, by life
  std::map<uint64_t, uint64_t> refused_;      // in which life of it, likewise
  absl::Time dispatcher_wake_ = absl::InfiniteFuture();
  absl::Time dispatcher_thaw_ = absl::InfinitePast();
  std::optional<CrashPoint> crash_;  // where it is to die
  bool wipe_ = false;                // and to lose all that it had
  JournalId journal_;
  uint64_t journals_ = 0;
  std::vector<std::string> disk_;  // its events; those from synced_ on may go
  size_t synced_ = 0;
  bool sync_due_ = false;
  DispatcherState replica_;  // the events applied once more
  uint64_t replay_checks_due_ = 0;
  Books books_;
  // Before its present turn: what came with a hello may stand behind it.
  std::map<ConsumerId, absl::Time> reports_before_;
  Books synced_books_;                          // what is as safe as the disk
  std::vector<Dispatcher::Incoming> incoming_;  // of its present turn
  absl::Duration turn_;           // how long it waits for what comes together
  std::set<ConsumerId> leaving_;  // whose leave is being handled

  std::map<std::string, WorkerProcess> workers_;
  std::map<std::string, ReaderProcess> readers_;
  std::string main_;  // deterministic: the reader that counts
  bool main_coming_ = false;
  std::map<size_t, Former> former_;  // deterministic, by slot
  std::vector<std::string> slots_;   // of sharers or ranks: the reader, or ""
  bool late_death_ = false;          // one is to die when nothing is unbound
  std::map<Cursor, Handed> handed_;
  // Where a run ends, by its ranks that came there, or (sharers) by the
  // dispatcher. Of ranks it outlives an emptied store.
  std::map<RunNumber, uint64_t> ends_;
  std::optional<absl::Time> finished_at_;
};

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_WORLD_H_

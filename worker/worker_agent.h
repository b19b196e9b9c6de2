#ifndef FEEDMILL_WORKER_WORKER_AGENT_H_
#define FEEDMILL_WORKER_WORKER_AGENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/piece_shelf.h"

namespace feedmill {

struct WorkerAgentSettings {
  WorkerId worker;
  Incarnation incarnation;
  uint32_t threads = 1;  // compute tasks in flight: 2 each
  uint32_t slots = 2;    // leases wanted
  uint64_t memory_bytes = uint64_t{256} << 20;
  uint64_t frame_bytes = uint64_t{512} << 10;  // a frame's target
  uint64_t cache_bytes = uint64_t{2} << 20;    // of a core alone
  absl::Duration heartbeat_interval = absl::Milliseconds(200);  // until told
};

// Run positions [begin, end) of a plan, up to about bytes_target of output.
struct ComputeRequest {
  TaskId task;
  PlanId plan;
  Cursor begin;
  Cursor end;
  uint64_t bytes_target = 0;
  Share share{};  // of whose rank
  // For whom, and in what the client would like its parts.
  PeerId to{};
  LinkCompression compression = LinkCompression::kNone;
  bool profile = false;  // it asks what that takes
  bool measure = false;  // the worker does, for its load report
  // To wake a thread for it would take about as long.
  bool at_once = false;
  // Bytes a second that its link carries, as its reader tells; 0: not known.
  uint64_t link_rate = 0;
};

// What the shell does after a call: start work, then send.
struct WorkerEffects {
  std::vector<Outgoing> sends;
  std::vector<PlanDefinition> define;    // compile these; failures: OnDefined
  std::vector<PlanId> forget;            // plans that no lease needs
  std::vector<ComputeRequest> compute;   // each answered by one OnComputed
  std::vector<ManifestRequest> resolve;  // each answered by one OnResolved
  bool drained = false;                  // the process may exit
};

// The worker's state machine: leases, streams, credit, memory. Pure.
//
// Thread: the worker's reactor only. A stream: open ⇄ blocked (no credit: its
// memory may be taken) ⇄ parked (no grant for park_after); gone when the
// lease is.
class WorkerAgent {
 public:
  explicit WorkerAgent(WorkerAgentSettings settings);
  virtual ~WorkerAgent() = default;

  WorkerEffects Handle(absl::Time now, const PeerId& from,
                       const Message& message);
  WorkerEffects OnTick(absl::Time now);
  // A task ended. `busy`: time on its thread. `packed`: the piece's parts, if
  // it was packed. `costs`: what its steps took, if that was asked for.
  WorkerEffects OnComputed(absl::Time now, TaskId task,
                           absl::StatusOr<Piece> piece, absl::Duration busy,
                           std::shared_ptr<const PackedParts> packed = nullptr,
                           StepCosts costs = nullptr);
  // A definition was compiled, or why not (the plan's leases fail with it).
  // `alike`: the leases of all ranks need the same pieces, whatever share they
  // name, so each is made once for all of them.
  WorkerEffects OnDefined(absl::Time now, const PlanId& plan,
                          absl::Status status, bool alike = false);
  WorkerEffects OnResolved(absl::Time now, ManifestResult result);
  // Finish, hand back, leave: no new leases; drained when none is left, or when
  // no dispatcher answers and no reader waits for any.
  WorkerEffects Drain(absl::Time now);

  // Whether readers see what is made where it is made, so that a frame costs
  // more than its bytes; else each is copied on its way, and costs least while
  // it fits into the cache.
  void ReadInPlace(bool in_place) { in_place_ = in_place; }

  // When OnTick has something to do.
  absl::Time NextDeadline() const { return next_beat_; }

  // How long a dispatcher that is well may keep silent.
  absl::Duration AnswerDue() const { return 8 * heartbeat_interval_; }

  // Element bytes that are computed and not sent, those that several ranks wait
  // for once: at most memory_bytes, one position of each head and what the
  // tasks in flight misjudged.
  uint64_t buffered_bytes() const { return used_bytes_; }
  size_t lease_count() const { return leases_.size(); }
  // What threads, memory and streams do now, for metrics. Steps: of measured
  // tasks, since each plan was defined.
  WorkerLoad Load(absl::Time now) const;

 protected:
  // Where the simulator plants its bugs.
  //
  // What a stream may send after `grant`: totals are absolute (rule 12).
  virtual uint64_t Allow(uint64_t total, const Grant& grant) const;
  // Whether `grant` makes the stream send again from its start (rule 12).
  virtual bool Reopened(Opening current, const Grant& grant) const;
  // Whether the stream goes before all that are not heads (rule 17).
  virtual bool IsHead(const Grant& grant) const { return grant.head; }
  // Whether a stream may have made enough while nobody makes what it sends
  // next (rule 17).
  virtual bool EnoughBehindHole() const { return false; }

 private:
  // A part of a stream that is not sent: wanted (no task, no piece), running
  // (a task) or ready (a piece). Keyed by its begin; a stream's segments touch.
  // Streams of several ranks may wait for one task and hold one piece.
  struct Segment {
    Cursor end;
    TaskId task{};  // 0: none
    MadePtr made{};
    uint64_t bytes() const { return made == nullptr ? 0 : made->bytes; }
    bool wanted() const { return task == TaskId() && made == nullptr; }
  };
  using Segments = std::map<Cursor, Segment>;
  struct Stream {
    Stream();  // out of line: clang cannot see its defaults in here
    PeerId to;
    Opening opening;
    Cursor next;      // to send
    Cursor frontier;  // end of the last segment
    Cursor stop;      // the lease's end, or where a data error ends it
    uint64_t sent = 0;
    uint64_t total = 0;
    bool head = false;
    LinkCompression compression = LinkCompression::kNone;
    bool checksums = false;
    uint32_t weight = kDefaultWeight;  // its reader's
    bool profile = false;
    uint64_t link_rate = 0;  // bytes a second, as its reader tells; 0: unknown
    absl::Time granted;      // the last grant
    Segments segments;
  };
  // The first part of a stream that nobody makes.
  struct Gap {
    Cursor begin;
    Cursor limit;
    bool at_frontier = false;  // else it is a wanted segment
  };
  struct Held {
    Lease lease;
    std::optional<Stream> stream;
    absl::Status failure;  // not OK: reported until the lease is gone
  };
  struct Task {
    SplitId split;
    PlanId plan;
    Cursor begin;
    Cursor end;
    uint64_t expected_bytes = 0;
    double expected_cost = 0;          // nanoseconds of a thread
    uint32_t weight = kDefaultWeight;  // its job's when it began
    bool at_once = false;
    std::optional<PieceShelf::Key> shelf{};  // where it is for several ranks
    uint64_t ranks = 1;
  };
  enum class PlanState { kDefining, kReady, kFailed };
  struct PlanRecord {
    PlanState state = PlanState::kDefining;
    absl::Status failure;
    bool alike = false;  // to all ranks
    uint64_t used = 0;   // answer_count_ when a lease last needed it
    // Recent work, halved now and then: what a position costs.
    uint64_t positions = 0;
    uint64_t bytes = 0;
    uint64_t busy_ns = 0;
    uint64_t positions_max = 1;  // of one request; grows by four
    // Who was served least is next: nanoseconds of threads for its weight, as
    // if it had never been idle.
    double served = 0;
    // Bytes of its pieces, which may outlive it.
    std::shared_ptr<uint64_t> made_bytes = std::make_shared<uint64_t>(0);
    // For the load report: sent so far, when a task is measured next, and what
    // measured ones took since the last report.
    uint64_t sent_elements = 0;
    uint64_t sent_bytes = 0;
    uint64_t told_elements = 0;
    absl::Time measure_at = absl::InfinitePast();
    std::map<uint32_t, StepCost> measured{};
    std::map<uint32_t, StepCost> measured_ever{};
    // As WeighJobs found it.
    uint64_t taken = 0;                // of the memory
    uint64_t tasks = 0;                // in flight
    uint32_t weight = kDefaultWeight;  // the greatest of those below
    bool reads = false;                // somebody reads it here now
  };
  struct EarlyGrant {
    PeerId from;
    Grant grant;
    absl::Time received;
  };
  using Leases = std::map<SplitId, Held>;

  void OnAnswer(absl::Time now, const WorkerAnswer& answer,
                WorkerEffects& effects);
  void TakeDefinitions(const WorkerAnswer& answer, WorkerEffects& effects);
  void TakeLeases(absl::Time now, const WorkerAnswer& answer,
                  WorkerEffects& effects);
  void TakeManifestRequests(const WorkerAnswer& answer, WorkerEffects& effects);
  void ForgetPlans(WorkerEffects& effects);
  void OnGrant(absl::Time now, const PeerId& from, const Grant& grant,
               WorkerEffects& effects);
  void KeepEarly(absl::Time now, const PeerId& from, const Grant& grant);

  void Open(Held& held, const PeerId& from, const Grant& grant);
  void MoveTo(Stream& stream, Cursor start);
  void Drop(Held& held);
  void Fail(absl::Time now, Held& held, absl::Status failure);
  absl::StatusOr<MadePtr> MadeOf(const Task& task, absl::StatusOr<Piece> piece,
                                 std::shared_ptr<const PackedParts> packed,
                                 StepCosts costs);
  void DeliverAll(absl::Time now, TaskId id, const Task& task,
                  absl::StatusOr<MadePtr> made, WorkerEffects& effects);
  void Deliver(absl::Time now, Held& held, TaskId task,
               absl::StatusOr<MadePtr> made, WorkerEffects& effects);
  static void Store(Stream& stream, Segments::iterator segment, MadePtr made);
  static void DropFrom(Stream& stream, Cursor cursor);
  static bool WaitsForCredit(const Stream& stream);
  void Send(Held& held, WorkerEffects& effects);

  // Starts as many tasks as threads, memory and streams allow.
  void Schedule(absl::Time now, WorkerEffects& effects);
  Held* NextToCompute(absl::Time now);
  bool Wants(absl::Time now, const Held& held) const;
  bool MayHaveTask(const PlanRecord& plan) const;
  bool WaitsForMemory(absl::Time now) const;
  bool MayCompute(absl::Time now, const Held& held) const;
  bool HasRoom(const PlanRecord& plan) const;
  static bool Cheap(const PlanRecord& plan);
  uint64_t FrameBytes(const PlanRecord& plan) const;
  bool FarAhead(const PlanRecord& plan, const Stream& stream) const;
  bool Fits(uint64_t bytes) const;
  void WeighJobs(absl::Time now);
  bool WithinShare(const PlanRecord& plan, uint64_t bytes) const;
  double Served(const PlanRecord& plan) const;
  bool FreeIdle(uint64_t bytes);
  bool Starved(const Held& held) const;
  void TakeMemory(Held& for_whom, uint64_t bytes);
  void GiveUp(Held& held, uint64_t bytes);
  void Start(absl::Time now, Held& held, uint64_t positions,
             WorkerEffects& effects);
  double AtOnceCost() const;
  static Gap FirstGap(const Stream& stream);
  static Segments::iterator Fill(Stream& stream, const Gap& gap, Cursor end,
                                 TaskId task);
  // … of several ranks
  std::optional<PieceShelf::Key> ShelfOf(const Held& held) const;
  void Adopt(absl::Time now, Held& held, WorkerEffects& effects);
  uint64_t PositionsFor(const PlanRecord& plan) const;
  uint64_t ExpectedBytes(const PlanRecord& plan, uint64_t positions) const;
  void Measure(absl::Time now, const Task& task, const Piece& piece,
               absl::Duration busy);

  bool Abandoned(absl::Time now) const;
  // … for operators (agent_load.cc)
  void NoteSent(const Lease& lease, uint64_t elements, uint64_t bytes);
  bool MayMeasure(absl::Time now, PlanRecord& plan);
  static void NoteCosts(PlanRecord& plan, const StepCosts& costs);
  std::optional<WorkerLoad> TakeLoad(absl::Time now);
  PlanLoad LoadOf(absl::Time now, const PlanId& id,
                  const PlanRecord& plan) const;
  void Beat(absl::Time now, WorkerEffects& effects);
  void BeatSoon(absl::Time now);
  void BeatWithin(absl::Time now, absl::Duration delay);

  const WorkerAgentSettings settings_;
  absl::Duration heartbeat_interval_;
  absl::Duration park_after_ = absl::Seconds(1);
  absl::Time next_beat_ = absl::InfinitePast();
  Seen seen_;
  absl::Time last_answer_ = absl::InfinitePast();
  bool draining_ = false;
  bool in_place_ = false;
  uint64_t answer_count_ = 0;

  uint64_t used_bytes_ = 0;  // of all pieces; outlives them
  PieceShelf shelf_;
  Leases leases_;
  std::map<SplitId, EarlyGrant> early_;  // whose lease is still on its way
  std::map<TaskId, Task> tasks_;
  uint64_t last_task_ = 0;
  uint64_t expected_bytes_ = 0;  // of all tasks in flight
  double served_ = 0;            // of the plan that was served last
  uint64_t weights_ = 0;         // of the jobs that are read here now

  std::map<PlanId, PlanRecord> plans_;
  std::map<PlanId, PlanCost> costs_;  // since the last beat
  absl::Duration busy_;               // of all threads, in tasks
  absl::Time next_load_ = absl::InfinitePast();
  bool load_is_idle_ = false;  // as it was last told
  // Asked for, by fingerprint; absent while it is being resolved.
  std::map<std::string, std::optional<ManifestResult>> manifests_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_WORKER_AGENT_H_

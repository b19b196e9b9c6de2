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
#include "core/wire/span_ring.h"
#include "worker/piece_shelf.h"

namespace feedmill {

struct WorkerAgentSettings {
  WorkerId worker;  // "": none yet, see TakeName
  Incarnation incarnation;
  uint32_t threads = 1;  // two compute tasks per thread
  uint32_t slots = 2;    // leases requested
  uint64_t memory_bytes = uint64_t{256} << 20;
  uint64_t frame_bytes = uint64_t{512} << 10;  // target size of a frame
  uint64_t cache_bytes = uint64_t{2} << 20;    // of a core
  // until the dispatcher sets it
  absl::Duration heartbeat_interval = absl::Milliseconds(200);
};

// Runs positions [begin, end) of a plan, up to about bytes_target of output.
struct ComputeRequest {
  TaskId task;
  PlanId plan;
  Cursor begin;
  Cursor end;
  uint64_t bytes_target = 0;
  Share share{};  // of the lease
  // The client, and the codec it requests.
  PeerId to{};
  LinkCompression compression = LinkCompression::kNone;
  bool profile = false;  // the client requests the costs
  bool measure = false;  // for the worker's load report
  // True if waking a thread would take about as long as the work.
  bool at_once = false;
  // Bytes per second of the link, as reported by its reader; 0: unknown.
  uint64_t link_rate = 0;
  bool trace = false;  // the times of the task are wanted
};

// When and where a task ran.
struct TaskTimes {
  absl::Time begin;
  absl::Time end;
  uint32_t thread = 0;
};

// Actions for the shell after a call: start work, then send.
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
// memory may be taken) ⇄ parked (no grant for park_after); ends with its lease.
class WorkerAgent {
 public:
  explicit WorkerAgent(WorkerAgentSettings settings);
  virtual ~WorkerAgent() = default;

  WorkerEffects Handle(absl::Time now, const PeerId& from,
                       const Message& message);
  WorkerEffects OnTick(absl::Time now);
  // A task ended. `busy`: thread time. `packed`: the packed parts, if any.
  // `costs`: of its steps, if requested. `times`: if requested.
  WorkerEffects OnComputed(absl::Time now, TaskId task,
                           absl::StatusOr<Piece> piece, absl::Duration busy,
                           std::shared_ptr<const PackedParts> packed = nullptr,
                           StepCosts costs = nullptr,
                           std::optional<TaskTimes> times = std::nullopt);
  // A definition was compiled, or failed; then the plan's leases fail with
  // `status`. `alike`: the leases of all ranks need the same pieces, so each
  // piece is computed once.
  WorkerEffects OnDefined(absl::Time now, const PlanId& plan,
                          absl::Status status, bool alike = false);
  WorkerEffects OnResolved(absl::Time now, ManifestResult result);
  // Registers under `worker` at the next tick: no heartbeat is sent before the
  // worker has a name. With another name the worker is a new one: it drops all
  // leases. `incarnation` must be higher than the last one.
  WorkerEffects TakeName(absl::Time now, WorkerId worker,
                         Incarnation incarnation);
  // Drains the worker: takes no new leases and finishes or returns the present
  // ones. Drained when no lease is left, or when no dispatcher answers and no
  // reader waits.
  WorkerEffects Drain(absl::Time now);

  // `in_place`: readers read pieces in shared memory, so the fixed cost of a
  // frame dominates. Otherwise pieces are copied, which is cheapest if a frame
  // fits into the cache.
  void ReadInPlace(bool in_place) { in_place_ = in_place; }

  // Time at which OnTick has to be called.
  absl::Time NextDeadline() const {
    return HasName() ? next_beat_ : absl::InfiniteFuture();
  }

  // Maximum time in which a healthy dispatcher answers.
  absl::Duration AnswerDue() const { return 8 * heartbeat_interval_; }

  // Element bytes computed and not sent; pieces shared by ranks count once. At
  // most memory_bytes, one position per head, and the estimation error of
  // running tasks.
  uint64_t buffered_bytes() const { return used_bytes_; }
  size_t lease_count() const { return leases_.size(); }
  // Present state of threads, memory and streams, for metrics. Step costs: of
  // measured tasks since each plan was defined.
  WorkerLoad Load(absl::Time now) const;

 protected:
  // Overridden by the simulator to plant bugs.
  //
  // Returns a stream's total credit after `grant`: totals are absolute (rule
  // 12).
  virtual uint64_t Allow(uint64_t total, const Grant& grant) const;
  // True if `grant` makes the stream send again from its start (rule 12).
  virtual bool Reopened(Opening current, const Grant& grant) const;
  // True if the stream precedes all that are not heads (rule 17).
  virtual bool IsHead(const Grant& grant) const { return grant.head; }
  // True if a stream may stop computing although the piece that it sends next
  // is missing (rule 17).
  virtual bool EnoughBehindHole() const { return false; }

 private:
  // An unsent part of a stream: wanted (no task, no piece), running (a task) or
  // ready (a piece). Keyed by its begin; a stream's segments are contiguous.
  // Streams of several ranks may wait for one task and share one piece.
  struct Segment {
    Cursor end;
    TaskId task{};  // 0: none
    BufferedPiecePtr made{};
    uint64_t bytes() const { return made == nullptr ? 0 : made->bytes; }
    bool wanted() const { return task == TaskId() && made == nullptr; }
  };
  using Segments = std::map<Cursor, Segment>;
  // An attempt as a client opened it: the pieces to compute and to send.
  struct OutgoingStream {
    OutgoingStream();  // out of line: clang needs it
    PeerId to;
    Opening opening;
    Cursor next;      // to send
    Cursor frontier;  // end of the last segment
    Cursor stop;      // end of the lease, or of the data if there is an error
    uint64_t sent = 0;
    uint64_t total = 0;
    bool head = false;
    LinkCompression compression = LinkCompression::kNone;
    bool checksums = false;
    uint32_t weight = kDefaultWeight;  // of its reader
    bool profile = false;
    // bytes per second, reported by its reader; 0: unknown
    uint64_t link_rate = 0;
    absl::Time granted;  // the last grant
    Segments segments;
  };
  // The first part of a stream that no task computes.
  struct Gap {
    Cursor begin;
    Cursor limit;
    bool at_frontier = false;  // false: a wanted segment
  };
  struct Held {
    Lease lease;
    std::optional<OutgoingStream> stream;
    absl::Status failure;  // not OK: reported until the lease ends
    absl::Time leased;
    bool begun = false;  // a task was started
  };
  struct Task {
    SplitId split;
    PlanId plan;
    Cursor begin;
    Cursor end;
    uint64_t expected_bytes = 0;
    double expected_cost = 0;          // thread nanoseconds
    uint32_t weight = kDefaultWeight;  // of its job when it began
    bool at_once = false;
    std::optional<PieceShelf::Key> shelf{};  // key if several ranks share it
    uint64_t ranks = 1;
    uint64_t trace = 0;  // 0: not traced
    Attempt attempt{};   // of the lease that is traced
    absl::Time started{};
  };
  enum class PlanState { kDefining, kReady, kFailed };
  struct PlanRecord {
    PlanState state = PlanState::kDefining;
    absl::Status failure;
    bool alike = false;  // same pieces for all ranks
    uint64_t used = 0;   // answer_count_ when a lease last needed it
    // Cost of recent positions; halved from time to time.
    uint64_t positions = 0;
    uint64_t bytes = 0;
    uint64_t busy_ns = 0;
    uint64_t positions_max = 1;  // per request; grows by a factor of four
    // Fair-share clock: thread nanoseconds divided by the weight. The lowest
    // job is next; idle time counts as used.
    double served = 0;
    // Bytes of the plan's pieces, which may outlive it.
    std::shared_ptr<uint64_t> made_bytes = std::make_shared<uint64_t>(0);
    // For the load report: totals sent, the time of the next measured task, and
    // measured costs since the last report.
    uint64_t sent_elements = 0;
    uint64_t sent_bytes = 0;
    uint64_t told_elements = 0;
    absl::Time measure_at = absl::InfinitePast();
    std::map<uint32_t, StepCost> measured{};
    std::map<uint32_t, StepCost> measured_ever{};
    // Set by WeighJobs.
    uint64_t taken = 0;                // of the memory
    uint64_t tasks = 0;                // in flight
    uint32_t weight = kDefaultWeight;  // maximum over its streams
    bool reads = false;                // a reader reads it here now
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
  void MoveTo(OutgoingStream& stream, Cursor start);
  void Drop(Held& held);
  void Fail(absl::Time now, Held& held, absl::Status failure);
  absl::StatusOr<BufferedPiecePtr> BufferPiece(
      absl::Time now, const Task& task, absl::StatusOr<Piece> piece,
      std::shared_ptr<const PackedParts> packed, StepCosts costs);
  void DeliverAll(absl::Time now, TaskId id, const Task& task,
                  absl::StatusOr<BufferedPiecePtr> made,
                  WorkerEffects& effects);
  void Deliver(absl::Time now, Held& held, TaskId task,
               absl::StatusOr<BufferedPiecePtr> made, WorkerEffects& effects);
  static void Store(OutgoingStream& stream, Segments::iterator segment,
                    BufferedPiecePtr made);
  static void DropFrom(OutgoingStream& stream, Cursor cursor);
  static bool WaitsForCredit(const OutgoingStream& stream);
  void Send(absl::Time now, Held& held, WorkerEffects& effects);

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
  bool FarAhead(const PlanRecord& plan, const OutgoingStream& stream) const;
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
  static Gap FirstGap(const OutgoingStream& stream);
  static Segments::iterator Fill(OutgoingStream& stream, const Gap& gap,
                                 Cursor end, TaskId task);
  // Shared by several ranks.
  std::optional<PieceShelf::Key> ShelfOf(const Held& held) const;
  void Adopt(absl::Time now, Held& held, WorkerEffects& effects);
  uint64_t PositionsFor(const PlanRecord& plan) const;
  uint64_t ExpectedBytes(const PlanRecord& plan, uint64_t positions) const;
  void Measure(absl::Time now, const Task& task, const Piece& piece,
               absl::Duration busy);

  bool HasName() const { return !settings_.worker.value().empty(); }
  bool Abandoned(absl::Time now) const;
  // Load report (agent_load.cc).
  void NoteSent(const Lease& lease, uint64_t elements, uint64_t bytes);
  bool MayMeasure(absl::Time now, PlanRecord& plan);
  static void NoteCosts(PlanRecord& plan, const StepCosts& costs);
  std::optional<WorkerLoad> TakeLoad(absl::Time now);
  PlanLoad LoadOf(absl::Time now, const PlanId& id,
                  const PlanRecord& plan) const;
  // Tracing (agent_trace.cc).
  void TakeTraceOrder(absl::Time now, const WorkerAnswer& answer);
  void AddSpan(absl::Time now, uint64_t trace, const TraceSpan& span);
  void TraceBegun(absl::Time now, Held& held);
  void TraceTask(absl::Time now, const Task& task,
                 const absl::StatusOr<Piece>& piece, const StepCosts& costs,
                 const TaskTimes& times);
  void TraceSent(absl::Time now, const Lease& lease, const BufferedPiece& made);
  void Beat(absl::Time now, WorkerEffects& effects);
  void BeatSoon(absl::Time now);
  void BeatWithin(absl::Time now, absl::Duration delay);

  WorkerAgentSettings settings_;  // constant but for the name
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
  std::map<SplitId, EarlyGrant> early_;  // grants whose lease has not arrived
  std::map<TaskId, Task> tasks_;
  uint64_t last_task_ = 0;
  uint64_t expected_bytes_ = 0;  // of all tasks in flight
  double served_ = 0;            // of the plan that was served last
  uint64_t weights_ = 0;         // of the jobs that are read here now

  std::map<PlanId, PlanRecord> plans_;
  std::map<PlanId, PlanCost> costs_;  // since the last heartbeat
  absl::Duration busy_;               // of all threads, in tasks
  absl::Time next_load_ = absl::InfinitePast();
  bool load_is_idle_ = false;            // in the last report
  std::map<uint64_t, SpanRing> traces_;  // that run, by their id
  // Requested manifests by fingerprint; nullopt while being resolved.
  std::map<std::string, std::optional<ManifestResult>> manifests_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_WORKER_AGENT_H_

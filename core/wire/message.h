#ifndef FEEDMILL_CORE_WIRE_MESSAGE_H_
#define FEEDMILL_CORE_WIRE_MESSAGE_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/strong_id.h"
#include "core/chunk/piece.h"
#include "core/chunk/share.h"
#include "core/dataset/graph.h"
#include "core/dataset/python_versions.h"
#include "feedmill/endpoint.h"

// Messages between the processes, as plain structs. Their bytes are defined in
// schemas/, their rules in schemas/PROTOCOL.md, the conversion in codec.h.

namespace feedmill {

// Changes with kPlanVersion (core/plan/plan_id.h) too: all processes of a
// cluster must compute the same order.
inline constexpr uint32_t kProtocolVersion = 4;

// Weight of a job when several jobs compete for a worker (JobOptions::weight).
inline constexpr uint32_t kDefaultWeight = 100;
inline constexpr uint32_t kWeightMax = 10'000;

// ---- identities
// Identifies one run of a process: nanoseconds of the Unix clock at its start,
// so later incarnations are greater.
using Incarnation = StrongId<struct IncarnationTag, uint64_t>;
// A reader's name within its job: "solo", a rank such as "1/4", or the name of
// a reader that shares the job.
using ConsumerId = StrongId<struct ConsumerIdTag, std::string>;
// A job: the user's name for it, or "@" and the consumer's name if it is
// anonymous.
using JobName = StrongId<struct JobNameTag, std::string>;
// A run of a job: an iteration with a fixed mode and start. Ordered.
using RunNumber = StrongId<struct RunNumberTag, uint64_t>;
// A worker's name: its data address, "tcp://host:port", to which clients
// connect.
using WorkerId = StrongId<struct WorkerIdTag, std::string>;
// Identifies one dispatcher's store; drawn when the store is created.
using JournalId = StrongId<struct JournalIdTag, uint64_t>;
using Attempt = StrongId<struct AttemptTag, uint64_t>;
using Opening = StrongId<struct OpeningTag, uint64_t>;
// Hash of (fingerprint, manifest hash, seed, iteration): the work of workers.
using PlanId = StrongId<struct PlanIdTag, std::string>;
// The transport's address of a peer. Workers and clients know the dispatcher as
// kDispatcherPeer; clients know a worker by its WorkerId's text; all other
// peers are routing ids.
using PeerId = StrongId<struct PeerIdTag, std::string>;
inline const PeerId kDispatcherPeer{"dispatcher"};

// Identifies one (range, session) for ever. Never reused, not even after a
// release, a restart or an emptied store. Ordered by binding.
struct SplitId {
  JournalId journal;
  uint64_t number = 0;
  friend bool operator==(const SplitId&, const SplitId&) = default;
  friend auto operator<=>(const SplitId&, const SplitId&) = default;
};

struct Session {
  ConsumerId consumer;
  Incarnation incarnation;
  friend bool operator==(const Session&, const Session&) = default;
  friend auto operator<=>(const Session&, const Session&) = default;
};

// The last event of a journal that a peer knows to be synced.
struct Seen {
  JournalId journal;
  uint64_t sequence = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

// ---- tracing, for operators
enum class SpanKind : uint32_t {
  kPlanned = 1,         // dispatcher: bound to a reader, no worker has it
  kLeased = 2,          // dispatcher: leased; `lane`: the worker's process
  kQueued = 3,          // worker: leased, before its first task
  kWaitsForThread = 4,  // worker: a task before a thread runs it
  kComputes = 5,        // worker: a task on thread `lane`
  kStep = 6,            // worker: the part of a task in step `place`
  kReady = 7,           // worker: a piece, until it is sent
  kBuffered = 8,        // reader: a piece, from its arrival until it is needed
  kClientSteps = 9,     // reader: a piece in the client steps
  kHandedOut = 10,      // reader: the trainer is given the piece's elements
  kWaits = 11,          // reader: the trainer waits for elements; no split
};
// An interval in the life of a split, on the clock of the process that recorded
// it. Receivers ignore spans of a kind that they do not know.
struct TraceSpan {
  SpanKind kind = SpanKind::kPlanned;
  SplitId split{};
  Attempt attempt{};  // dispatcher and worker
  absl::Time begin{};
  absl::Time end{};
  Cursor from{};  // the part of the split
  Cursor to{};
  uint64_t rows = 0;
  uint64_t bytes = 0;
  uint32_t lane = 0;
  uint32_t place = 0;    // StepCost::place
  uint32_t process = 0;  // in a TraceReport: the process that recorded it
  friend bool operator==(const TraceSpan&, const TraceSpan&) = default;
};
// Spans of one trace that a process recorded since its last message.
struct SpanBatch {
  uint64_t trace = 0;
  uint64_t first = 0;  // number of the first span, dropped ones counted
  absl::Time sent;     // the sender's clock
  // Least difference of the sender's clock, when a TraceOrder came, and the
  // order's clock. Infinite: no order has come.
  absl::Duration down = absl::InfiniteDuration();
  std::vector<TraceSpan> spans;
  // When it was received, if that is known more exactly than the time of the
  // call. Not sent.
  absl::Time came = absl::InfinitePast();
  friend bool operator==(const SpanBatch&, const SpanBatch&) = default;
};
// The traces that run, and the dispatcher's clock.
struct TraceOrder {
  absl::Time clock;
  std::vector<uint64_t> traces;
  absl::Time came = absl::InfinitePast();  // as in SpanBatch
  friend bool operator==(const TraceOrder&, const TraceOrder&) = default;
};

// ---- client ⇄ dispatcher
// Opens a session or repeats that request; sent until answered.
// A reader's ability to read a sequenced run
// (core/operators/sequenced_graph.h).
enum class Sequencing : uint8_t {
  kNever = 0,    // it cannot, or the run that it continues is none
  kIfWorth = 1,  // as the run is, or is planned
  kAlways = 2,   // it continues a sequenced run
};
struct ClientHello {
  JobName job;
  std::string graph;  // CanonicalText
  Order order = Order::kDeterministic;
  std::optional<uint64_t> seed;
  Session session;
  bool take_over = false;
  std::optional<RunNumber> run;  // absent: the job's current run, or a new one
  Cursor cursor;                 // deterministic: where to continue
  Seen seen;
  Share share{};  // share of this rank
  // Passes of the run that the reader knows (RunInfo), from earlier answers or
  // its token; 0: none.
  uint64_t passes = 0;
  bool settled = false;
  // True if the reader begins the run that it names. False if it continues it,
  // from a token or after a lost session. Only a continuing reader replaces its
  // own earlier incarnation without take_over.
  bool begins = false;
  Sequencing sequencing = Sequencing::kNever;
  // The element to continue at if the run is sequenced: its cursor is {0,
  // number}.
  uint64_t number = 0;
};
struct SplitReport {
  SplitId split;
  Cursor taken;  // in the client's buffer, like all before it
  Cursor out;    // left the buffer in order; sharing readers: handed out
};
// Time and memory use of a reader: counters since the first request for an
// element.
struct ReaderLoad {
  absl::Duration elapsed;
  absl::Duration waited;  // of it: the application waited for elements
  absl::Duration stage;   // in client steps, on a core or blocked
  uint64_t elements = 0;
  uint64_t bytes = 0;
  uint64_t skipped = 0;
  uint64_t buffered_bytes = 0;  // received and not handed out
  uint64_t window_bytes = 0;    // granted to workers
  // Some of the elements that were skipped since the last report, as text that
  // names the file and the record.
  std::vector<std::string> skipped_elements{};
  // Names (WorkerId) of workers that have accepted no message of the reader for
  // two seconds, at most kUnreachableMax.
  std::vector<std::string> unreachable{};
  static constexpr size_t kUnreachableMax = 8;
  friend bool operator==(const ReaderLoad&, const ReaderLoad&) = default;
};
// Heartbeat of a client; also sent at once on a change. Complete: holds all
// splits.
struct ClientBeat {
  JobName job;
  RunNumber run;
  Session session;
  absl::Time sent;  // the client's clock; returned in the answer
  std::vector<SplitReport> splits;
  Seen seen;
  std::vector<LinkReport> links{};   // for operators
  std::optional<ReaderLoad> load{};  // for operators; not in every message
  std::optional<SpanBatch> spans{};  // while the job is traced
};
struct LeaseRef {
  WorkerId worker;
  Incarnation incarnation;
  Attempt attempt;
  friend bool operator==(const LeaseRef&, const LeaseRef&) = default;
  friend auto operator<=>(const LeaseRef&, const LeaseRef&) = default;
};
struct BoundSplit {
  SplitId split;
  Cursor begin;
  Cursor end;
  std::vector<LeaseRef> leases;
  absl::Status error;  // every attempt failed: the run ends here
  // The element at that cursor crashes the workers that produce it. It and the
  // rest of its position are left out.
  std::optional<SkippedElement> skip{};
};
// Number of positions of an infinite run.
inline constexpr uint64_t kInfinitePositions = ~uint64_t{0};
// Properties of a planned run.
struct RunInfo {
  RunNumber run;
  uint64_t iteration = 0;
  uint64_t seed = 0;
  uint64_t source_size = 0;  // for Plan::Make
  uint64_t positions = 0;    // kInfinitePositions: infinite
  PlanId plan;
  // Mode off: number of whole passes over the graph; `positions` covers all of
  // them (RepeatedGraph has the plan). 0: the graph itself. Until the
  // numbers are final both may grow, and no reader is at the end.
  uint64_t passes = 0;
  bool settled = true;
  uint64_t source_round = 0;  // SourcePlan::round
  bool sequenced = false;     // position 0 is the whole sequence
};
// Answers a hello or heartbeat; also sent at once on a change. Holds all splits
// bound to the session: a split that is missing has ended.
struct ClientAnswer {
  JobName job;
  Session session;
  std::optional<absl::Time> beat_sent;  // sent time of the answered heartbeat
  std::optional<RunInfo> run;           // absent: not planned yet
  std::vector<BoundSplit> splits;
  bool exhausted = false;  // no split is left to bind
  bool finished = false;   // and all were reported as out: the run is over
  uint32_t workers = 0;
  absl::Duration heartbeat_interval;
  absl::Duration client_timeout;
  Seen seen;
  // Without a run: number of ranks that have not finished the previous
  // iteration; this rank's iteration begins when they have. With a run: number
  // of ranks that must report their position before it is final (P-191).
  uint64_t awaited = 0;
  std::vector<uint64_t> awaited_ranks{};  // the first of these ranks
  std::optional<TraceOrder> tracing{};    // while the job is traced
};
enum class RejectReason : uint8_t {
  kUnknown = 1,     // no such session: send a hello with your position
  kSuperseded = 2,  // a newer run or incarnation replaced it: stop
  kReleased = 3,    // silent too long: drop everything, join with a new name
  kRefused = 4,     // the job is not possible: see `detail`
};
struct ClientReject {
  JobName job;
  Session session;
  RejectReason reason = RejectReason::kUnknown;
  absl::Status detail;
  // A later life than the hello's that ended the sender's chance to join, and
  // the time since the dispatcher met that life. A reader that began after that
  // is the later one: its clock is behind.
  struct LaterLife {
    Incarnation life;
    absl::Duration met;
  };
  std::optional<LaterLife> later{};
};
// Why a reader leaves. Determines the state in which its job ends.
enum class LeaveReason : uint8_t {
  kLeft = 1,       // closed before the end, or failed
  kFinished = 2,   // it read to the end
  kCancelled = 3,  // it was stopped: Reader::Cancel, ReadHooks::cancel
};
// Ends the session: all elements were handed out, or the rest is not wanted.
// Answered by a ClientReject kReleased; harmless if repeated or lost.
struct ClientLeave {
  JobName job;
  RunNumber run;
  Session session;
  std::vector<SplitReport> splits;  // the final report
  LeaveReason why = LeaveReason::kLeft;
  std::optional<ReaderLoad> load{};  // the final report
  std::optional<SpanBatch> spans{};  // while the job is traced
};

// ---- worker ⇄ dispatcher
// Cost of a plan on a worker, measured since the last heartbeat.
struct PlanCost {
  PlanId plan;
  uint64_t positions = 0;
  uint64_t bytes = 0;
  absl::Duration busy;  // thread time
};
// Cost of one place of a plan, for the pieces a worker made.
struct StepCost {
  // 0: not part of a step; 1: the source; 2: building the piece; 3 + k: step k
  // of the written pipeline.
  uint32_t place = 0;
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;
  uint64_t rows_in = 0;
  uint64_t rows_out = 0;
  uint64_t bytes_out = 0;
  friend bool operator==(const StepCost&, const StepCost&) = default;
  static constexpr uint32_t kPlaceMax = 0xffff;
};
// State of one plan on a worker.
struct PlanLoad {
  PlanId plan;
  uint32_t streams = 0;             // requested by readers now
  uint32_t waiting_for_credit = 0;  // of these, with data to send
  uint32_t waiting_for_memory = 0;  // with data to compute
  uint64_t ready_bytes = 0;         // computed and not sent
  uint64_t elements = 0;            // sent since the worker has the plan
  uint64_t bytes = 0;
  std::vector<StepCost> steps{};  // a sample since the last report
  friend bool operator==(const PlanLoad&, const PlanLoad&) = default;
};
// Threads and memory of a worker.
struct WorkerLoad {
  uint32_t threads = 0;
  uint32_t tasks = 0;         // running
  absl::Duration busy;        // of all threads, since the start
  uint64_t memory_bytes = 0;  // computed and not sent
  uint64_t memory_max = 0;
  std::vector<PlanLoad> plans{};
  // Caches that could not be written since the start; the first, and why.
  uint64_t cache_faults = 0;
  std::string cache_fault{};
  friend bool operator==(const WorkerLoad&, const WorkerLoad&) = default;
};
struct LeaseFailure {
  SplitId split;
  Attempt attempt;
  absl::Status status;
};
// Answers a ManifestRequest: OK and the manifest, or the error.
struct ManifestResult {
  std::string graph_fingerprint;
  absl::Status status;
  std::string manifest;  // Manifest::Serialize
};
struct HeldLease {
  SplitId split;
  Attempt attempt;
};
struct WorkerBeat {
  WorkerId worker;
  Incarnation incarnation;
  uint32_t slots = 0;  // maximum of leases it wants: 2 per thread
  bool draining = false;
  std::vector<HeldLease> leases;
  std::vector<PlanId> plans;  // definitions it has
  std::vector<PlanCost> costs;
  std::vector<LeaseFailure> failures;     // repeated until the lease ends
  std::vector<ManifestResult> manifests;  // repeated until no longer requested
  Seen seen;
  std::optional<WorkerLoad> load{};  // for operators; sent on a change
  std::vector<SpanBatch> spans{};    // one for each trace
  bool allows_python = false;        // it runs Python functions
  // Its interpreter, until an answer says that it is known.
  std::optional<PythonInterpreter> python{};
  std::string release{};  // of feedmill; "": an earlier one. For operators
  // Leases of inputs of a pipeline that are computed to their end: they need no
  // thread.
  uint32_t complete = 0;
  bool sequences = false;  // it can make sequenced runs
};
struct Lease {
  SplitId split;
  Session session;
  PlanId plan;
  Cursor begin;  // the split's range
  Cursor end;
  Attempt attempt;
  // The session's share. If each position makes one element, only elements of
  // the share are made and sent.
  Share share{};
  uint64_t trace = 0;  // 0: not traced
  // For a split of an input of a pipeline: its depth (LeaseTable) among all
  // inputs. Each answer has the present value. 0 for other splits.
  uint32_t depth = 0;
};
struct PlanDefinition {
  PlanId plan;
  std::string graph;     // CanonicalText
  std::string manifest;  // Manifest::Serialize; empty without files
  uint64_t seed = 0;
  uint64_t iteration = 0;
};
struct ManifestRequest {
  std::string graph_fingerprint;
  std::string graph;
};
// The complete set of leases of a worker; it ends all others.
struct WorkerAnswer {
  Incarnation incarnation;
  std::vector<Lease> leases;
  std::vector<PlanDefinition> definitions;  // plans that the worker lacks
  std::vector<ManifestRequest> manifests;
  absl::Duration heartbeat_interval;
  // streams without a grant for this long are parked
  absl::Duration park_after;
  bool drained = false;  // the worker may stop: no client depends on it
  Seen seen;
  std::optional<TraceOrder> tracing{};  // while a job is traced
  bool python_known = false;  // the dispatcher has the worker's interpreter
  // Number of workers that take leases; 0: not known (an older dispatcher).
  uint32_t workers = 0;
};

// ---- any process → dispatcher
// Begins a trace of a job, or asks for its spans. Repeated until it is
// answered.
struct TraceRequest {
  JobName job;
  uint64_t trace = 0;  // drawn by the sender
  bool begin = false;  // false: NotFound unless the trace is known
  absl::Duration duration;
  uint64_t from = 0;  // number of the first wanted span; forgets earlier ones
};
struct TracedProcess {
  std::string name;  // "dispatcher", "worker HOST:PORT", "reader JOB rank 1/2"
  // To be added to the process's times. The true offset differs by at most
  // `uncertainty`; infinite: it is not known.
  absl::Duration offset;
  absl::Duration uncertainty;
  uint64_t lost = 0;  // spans that it dropped, or whose message was lost
  friend bool operator==(const TracedProcess&, const TracedProcess&) = default;
};
struct TraceReport {
  absl::Status status;  // not OK: the request was refused
  uint64_t trace = 0;
  absl::Time now;    // the dispatcher's clock
  absl::Time begin;  // of the trace
  absl::Time end;
  bool complete = false;  // no more spans come
  uint64_t first = 0;     // number of the first span
  std::vector<TraceSpan> spans{};
  std::vector<TracedProcess> processes{};  // 0: the dispatcher
  std::vector<std::string> places{};       // names, by StepCost::place
  uint64_t lost = 0;        // spans that the dispatcher had no room for
  std::string waits_for{};  // Dispatcher::WaitsFor
};
struct StatusRequest {
  std::optional<TraceRequest> trace{};  // absent: the status
  bool events = false;                  // the status with all kept events
};
struct StatusReply {
  std::string json;  // see `feedmill status --help`
  std::optional<TraceReport> trace{};
};
// Registers `graph`, a CanonicalText, under `id`. An empty graph asks for the
// registered one. Repeated until it is answered.
struct DatasetRequest {
  std::string id;
  std::string graph;
};
struct DatasetReply {
  std::string id;
  std::string graph;  // registered under the id; "" with an error
  absl::Status status;
  Seen seen;
};
// Answers a message that cannot be decoded, or a peer of another version.
struct Refusal {
  absl::Status status;
};

// ---- client ⇄ worker
using StepCosts = std::shared_ptr<const std::vector<StepCost>>;

// The limit up to which a client lets an attempt send: absolute and idempotent.
// A higher opening makes the worker send again from `start`.
struct Grant {
  Session session;
  SplitId split;
  Incarnation worker_incarnation;
  Attempt attempt;
  Opening opening;
  Cursor start;
  uint64_t total_bytes = 0;  // element bytes allowed since `start`
  bool head = false;         // the first split not yet taken and emptied
  LinkCompression compression =
      LinkCompression::kNone;  // requested by the client
  // also of the parts: the link's own protection is weak
  bool checksums = false;
  uint32_t weight = kDefaultWeight;  // 1 to kWeightMax
  bool profile = false;              // frames must carry costs
  // Measured rate at which bytes of this worker arrive, in bytes per second as
  // sent. Valid while the reader mostly waits and its window is wide enough for
  // the round trip. 0: unknown.
  uint64_t arriving = 0;
  // A generator's state that leads to `start`, or null. The worker may begin
  // with it.
  GeneratorStatePtr state{};
};
// Packed form of a piece's parts (packing.h).
struct PackedParts;
struct Frame {
  Session session;
  SplitId split;
  WorkerId worker;
  Incarnation worker_incarnation;
  Attempt attempt;
  Opening opening;
  Piece piece;
  // Smaller form of the same parts, sent instead of them. Null: none.
  std::shared_ptr<const PackedParts> packed{};
  bool checksums = false;  // of the parts: sent with, or received in, the frame
  // Codec of the received parts, if some were packed. Not sent.
  LinkCompression came = LinkCompression::kNone;
  uint64_t wire_bytes = 0;  // size of its parts as received; not sent
  StepCosts costs{};  // of its piece, if the grant asked for it; else null
};

// `parts`, an encoded message, relayed between a client and a worker by the
// dispatcher. `client`: the client's routing id at the dispatcher; "" in
// messages from or to the client.
struct Relay {
  WorkerId worker;
  std::string client;
  std::vector<Buffer> parts;
};

// Asks for access to the worker's memory. Only processes of one host can have
// it: the boot id identifies the host, core/net/shared_memory_server.h checks
// the rest.
struct ShareRequest {
  std::string boot_id;
};
// Place from which to obtain the memory. An empty name: refused, do not ask
// again.
struct ShareOffer {
  std::string socket_name;  // abstract, of AF_UNIX
  uint64_t nonce = 0;  // the client sends it to the socket to identify itself
};

using Message =
    std::variant<ClientHello, ClientBeat, ClientAnswer, ClientReject,
                 ClientLeave, WorkerBeat, WorkerAnswer, StatusRequest,
                 StatusReply, Refusal, Grant, Frame, ShareRequest, ShareOffer,
                 Relay, DatasetRequest, DatasetReply>;

// A message and its destination.
struct Outgoing {
  PeerId to;
  Message message;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_MESSAGE_H_

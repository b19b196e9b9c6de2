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
#include "feedmill/link.h"

// What the processes say to each other, typed. The bytes are in schemas/, the
// rules in schemas/PROTOCOL.md, the translation in codec.h.

namespace feedmill {

// Also another one for each kPlanVersion (core/plan/plan_id.h): all processes
// of a cluster compute the same order.
inline constexpr uint32_t kProtocolVersion = 4;

// ---- identities
// A life of a process: later lives are greater (nanoseconds of the Unix clock
// at its start).
using Incarnation = StrongId<struct IncarnationTag, uint64_t>;
// A reader's name within its job: "solo", a rank's "1/4", or a sharer's own.
using ConsumerId = StrongId<struct ConsumerIdTag, std::string>;
// A job: its user's name for it, or "@" and the consumer's for an anonymous
// one.
using JobName = StrongId<struct JobNameTag, std::string>;
// A run of a job: an iteration with a fixed mode and start. Ordered.
using RunNumber = StrongId<struct RunNumberTag, uint64_t>;
// A worker's data address, "tcp://host:port": its name and where clients go.
using WorkerId = StrongId<struct WorkerIdTag, std::string>;
// The identity of one dispatcher's store; drawn when the store is created.
using JournalId = StrongId<struct JournalIdTag, uint64_t>;
using Attempt = StrongId<struct AttemptTag, uint64_t>;
using Opening = StrongId<struct OpeningTag, uint64_t>;
// Hash of (fingerprint, manifest hash, seed, iteration): what workers run.
using PlanId = StrongId<struct PlanIdTag, std::string>;
// Where a message came from or goes: the transport's address of a peer. The
// dispatcher is kDispatcherPeer to workers and clients; a worker is its
// WorkerId's text to a client; others are routing ids.
using PeerId = StrongId<struct PeerIdTag, std::string>;
inline const PeerId kDispatcherPeer{"dispatcher"};

// Names one (range, session) for ever; never used again, not after a release,
// a restart or an emptied store. In order of binding.
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

// The last event of a journal that its reader knows to be synced.
struct Seen {
  JournalId journal;
  uint64_t sequence = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

// ---- client ⇄ dispatcher
// Opens a session or says it again; repeated until answered.
struct ClientHello {
  JobName job;
  std::string graph;  // CanonicalText
  Order order = Order::kDeterministic;
  std::optional<uint64_t> seed;
  Session session;
  bool take_over = false;
  std::optional<RunNumber> run;  // absent: the job's current run, or a new one
  Cursor cursor;                 // deterministic: where to go on
  Seen seen;
  Share share{};  // what it takes, if it is a rank
  // What it knows of its run's slots (RunInfo), from earlier answers or from
  // its token; 0: nothing.
  uint64_t slots = 0;
  bool settled = false;
  // True if the reader begins the run that it names, false if it goes on with
  // it (from a token, or after a lost session). Only a reader that goes on
  // replaces an earlier life of its own without take_over.
  bool begins = false;
};
struct SplitReport {
  SplitId split;
  Cursor taken;  // in the client's buffer, all before it too
  Cursor out;    // left the buffer in order; sharers: handed out
};
// What a reader does with its time: counters since its first element was asked
// for.
struct ReaderLoad {
  absl::Duration elapsed;
  absl::Duration waited;  // of these, the application waited for elements
  absl::Duration stage;   // in the steps of the client, on a core or blocked
  uint64_t elements = 0;
  uint64_t bytes = 0;
  uint64_t skipped = 0;
  uint64_t buffered_bytes = 0;  // came and not handed out
  uint64_t window_bytes = 0;    // that it lets workers send
  friend bool operator==(const ReaderLoad&, const ReaderLoad&) = default;
};
// The keep-alive, and at once on a change. Carries the full set.
struct ClientBeat {
  JobName job;
  RunNumber run;
  Session session;
  absl::Time sent;  // the client's clock; comes back in the answer
  std::vector<SplitReport> splits;
  Seen seen;
  std::vector<LinkReport> links{};   // for operators
  std::optional<ReaderLoad> load{};  // for operators; now and then
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
  absl::Status error;  // every attempt failed: the run ends here, in order
  // The element at that cursor, and all of its position after it, kills the
  // workers that make it: it is left out.
  std::optional<SkippedElement> skip{};
};
// The positions of a run without end.
inline constexpr uint64_t kEndlessPositions = ~uint64_t{0};
// What a client needs to know of its run once it is planned.
struct RunInfo {
  RunNumber run;
  uint64_t iteration = 0;
  uint64_t seed = 0;
  uint64_t source_size = 0;  // for Plan::Make
  uint64_t positions = 0;    // kEndless: endless
  PlanId plan;
  // Mode off: so many whole passes over the graph, of which `positions` are all
  // (the plan is that of SlottedGraph); 0: the graph itself. While it is not
  // settled both may grow, and nobody is at the end.
  uint64_t slots = 0;
  bool settled = true;
  uint64_t source_round = 0;  // SourcePlan::round
};
// Answers a hello or beat, and is sent at once when something changes. All
// splits bound to the session: one that is absent has ended.
struct ClientAnswer {
  JobName job;
  Session session;
  std::optional<absl::Time> beat_sent;  // of the beat that is answered
  std::optional<RunInfo> run;           // absent: still being planned
  std::vector<BoundSplit> splits;
  bool dry = false;       // nothing is left to bind to anyone
  bool finished = false;  // and all was reported out: the run is over
  uint32_t workers = 0;
  absl::Duration heartbeat_interval;
  absl::Duration client_timeout;
  Seen seen;
  // Ranks that have not finished the iteration before this one's, which begins
  // when they have: no session is open. With a run: ranks that are to say how
  // far they are before it is settled (P-191).
  uint64_t awaited = 0;
  std::vector<uint64_t> awaited_ranks{};  // the first of them
};
enum class RejectReason : uint8_t {
  kUnknown = 1,     // no such session here: say hello with where you stand
  kSuperseded = 2,  // a newer run or incarnation took over: stop
  kReleased = 3,    // silent too long: drop everything, join under a new name
  kRefused = 4,     // the job cannot be: detail says why
};
struct ClientReject {
  JobName job;
  Session session;
  RejectReason reason = RejectReason::kUnknown;
  absl::Status detail;
};
// Why a reader leaves. The state that its job ends in follows from it.
enum class LeaveReason : uint8_t {
  kLeft = 1,       // its owner wanted no more, or it ended with an error
  kFinished = 2,   // it read to the end
  kCancelled = 3,  // it was stopped: Reader::Cancel, ReadOptions::cancel
};
// The session ends: all handed out, or nobody wants the rest. Answered by a
// ClientReject kReleased; harmless to repeat or lose.
struct ClientLeave {
  JobName job;
  RunNumber run;
  Session session;
  std::vector<SplitReport> splits;  // the last report
  LeaveReason why = LeaveReason::kLeft;
  std::optional<ReaderLoad> load{};  // the last
};

// ---- worker ⇄ dispatcher
// What it costs to run a plan, measured since the last beat.
struct PlanCost {
  PlanId plan;
  uint64_t positions = 0;
  uint64_t bytes = 0;
  absl::Duration busy;  // of one thread
};
// What making a piece took at a place of its plan, on a worker.
struct StepCost {
  // 0: what is of no step; 1: the source; 2: making the piece of what they
  // made; 3 + k: step k, of all as written.
  uint32_t place = 0;
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;
  uint64_t rows_in = 0;
  uint64_t rows_out = 0;
  uint64_t bytes_out = 0;
  friend bool operator==(const StepCost&, const StepCost&) = default;
  static constexpr uint32_t kPlaceMax = 0xffff;
};
// What a worker does for one plan.
struct PlanLoad {
  PlanId plan;
  uint32_t streams = 0;             // that a reader asks for now
  uint32_t waiting_for_credit = 0;  // of these, with something to send
  uint32_t waiting_for_memory = 0;  // with something to make
  uint64_t ready_bytes = 0;         // made and not sent
  uint64_t elements = 0;            // sent, since it has the plan
  uint64_t bytes = 0;
  std::vector<StepCost> steps{};  // a sample, since the last report
  friend bool operator==(const PlanLoad&, const PlanLoad&) = default;
};
// What a worker's threads and memory do.
struct WorkerLoad {
  uint32_t threads = 0;
  uint32_t tasks = 0;         // under way
  absl::Duration busy;        // of all threads, since the start
  uint64_t memory_bytes = 0;  // made and not sent
  uint64_t memory_max = 0;
  std::vector<PlanLoad> plans{};
  friend bool operator==(const WorkerLoad&, const WorkerLoad&) = default;
};
struct LeaseFailure {
  SplitId split;
  Attempt attempt;
  absl::Status status;
};
// The answer to a ManifestRequest: OK and the manifest, or why not.
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
  uint32_t slots = 0;  // leases it wants at most: 2 a thread
  bool draining = false;
  std::vector<HeldLease> leases;
  std::vector<PlanId> plans;  // definitions that it has
  std::vector<PlanCost> costs;
  std::vector<LeaseFailure> failures;     // repeated until the lease is gone
  std::vector<ManifestResult> manifests;  // repeated until no longer asked for
  Seen seen;
  std::optional<WorkerLoad> load{};  // for operators; when it changed
};
struct Lease {
  SplitId split;
  Session session;
  PlanId plan;
  Cursor begin;  // the split's range
  Cursor end;
  Attempt attempt;
  Share share{};  // the session's: where each position makes one element,
                  // only these are made and sent
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
// The full set of what the worker should hold; anything else ends.
struct WorkerAnswer {
  Incarnation incarnation;
  std::vector<Lease> leases;
  std::vector<PlanDefinition> definitions;  // of plans that it lacks
  std::vector<ManifestRequest> manifests;
  absl::Duration heartbeat_interval;
  absl::Duration park_after;  // a stream without a grant for so long is parked
  bool drained = false;       // it may go: nothing depends on it
  Seen seen;
};

// ---- anyone → dispatcher
struct StatusRequest {};
struct StatusReply {
  std::string json;  // see `feedmill status --help`
};
// A message that could not be understood, or a peer of another version.
struct Refusal {
  absl::Status status;
};

// ---- client ⇄ worker
using StepCosts = std::shared_ptr<const std::vector<StepCost>>;

// How far a client lets an attempt send: absolute and idempotent. A higher
// opening makes the worker send again from `start`.
struct Grant {
  Session session;
  SplitId split;
  Incarnation worker_incarnation;
  Attempt attempt;
  Opening opening;
  Cursor start;
  uint64_t total_bytes = 0;  // element bytes allowed since `start`
  bool head = false;         // the first split not taken and emptied
  LinkCompression compression =
      LinkCompression::kNone;  // that the client wishes
  bool checksums = false;  // of the parts, too: the link protects them badly
  uint32_t weight = kDefaultWeight;  // 1 to kWeightMax
  bool profile = false;              // frames are to say what making them took
  // Bytes a second that come from this worker, as they are sent, while the
  // reader does little but wait for them and its window is wide enough for the
  // round trip. 0: not known.
  uint64_t arriving = 0;
};
// What PackParts made of a piece's parts (packing.h).
struct PackedParts;
struct Frame {
  Session session;
  SplitId split;
  WorkerId worker;
  Incarnation worker_incarnation;
  Attempt attempt;
  Opening opening;
  Piece piece;
  // The same parts, smaller: what is sent in their place. Null: nothing is.
  std::shared_ptr<const PackedParts> packed{};
  bool checksums = false;  // of the parts: sent, or came, with it
  // In which its parts came, if some were packed. Not sent.
  LinkCompression came = LinkCompression::kNone;
  uint64_t wire_bytes = 0;  // of its parts as they came. Not sent.
  StepCosts costs{};        // of its piece, where the grant asked; else null
};

// `parts`, a whole encoded message, on its way between a client and a worker
// through the dispatcher. `client`: its routing id there; "" where it sends or
// gets it.
struct Relay {
  WorkerId worker;
  std::string client;
  std::vector<Buffer> parts;
};

// May this client see the worker's memory? Only processes of one host can: the
// boot id tells hosts apart, what follows (core/net/arena_host.h) the rest.
struct ShareRequest {
  std::string boot_id;
};
// Where to fetch it. An empty name: no, and asking again is in vain.
struct ShareOffer {
  std::string socket_name;  // abstract, of AF_UNIX
  uint64_t nonce = 0;       // said there, shows who asked
};

using Message = std::variant<ClientHello, ClientBeat, ClientAnswer,
                             ClientReject, ClientLeave, WorkerBeat,
                             WorkerAnswer, StatusRequest, StatusReply, Refusal,
                             Grant, Frame, ShareRequest, ShareOffer, Relay>;

// A message and whom it is for.
struct Outgoing {
  PeerId to;
  Message message;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_MESSAGE_H_

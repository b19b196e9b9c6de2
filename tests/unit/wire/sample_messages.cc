#include "tests/unit/wire/sample_messages.h"

#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"

namespace feedmill {
namespace {

SplitId Split(uint64_t number) { return {JournalId(77), number}; }
Seen SeenUpTo(uint64_t sequence) { return {JournalId(77), sequence}; }
Session TheSession() {
  return {ConsumerId("solo"), Incarnation(1700000000000000001)};
}

ClientHello Hello() {
  ClientHello hello;
  hello.job = JobName("photos");
  hello.graph = R"({"source":{"range":{"stop":10}}})";
  hello.order = Order::kAny;
  hello.seed = 0;
  hello.session = TheSession();
  hello.take_over = true;
  hello.run = RunNumber(3);
  hello.cursor = {100, 2};
  hello.seen = SeenUpTo(41);
  return hello;
}

ClientHello HelloOfPasses() {
  ClientHello hello = Hello();
  hello.share = {1, 2};
  hello.passes = 3;
  hello.settled = true;
  return hello;
}

ClientHello HelloThatBegins() {
  ClientHello hello = Hello();
  hello.begins = true;
  return hello;
}

ClientHello HelloOfASequence() {
  ClientHello hello = Hello();
  hello.sequencing = Sequencing::kIfWorth;
  hello.number = 5000;
  return hello;
}

ClientBeat Beat() {
  ClientBeat beat;
  beat.job = JobName("photos");
  beat.run = RunNumber(3);
  beat.session = TheSession();
  beat.sent = absl::FromUnixNanos(1700000000123456789);
  beat.splits = {{Split(5), {120, 1}, {110, 0}},
                 {Split(6), {130, 0}, {130, 0}}};
  beat.seen = SeenUpTo(42);
  return beat;
}

ClientAnswer Answer() {
  ClientAnswer answer;
  answer.job = JobName("photos");
  answer.session = TheSession();
  answer.beat_sent = absl::FromUnixNanos(1700000000123456789);
  answer.run = RunInfo{RunNumber(3), 1, 7, 60000, ~uint64_t{0}, PlanId("ab12")};
  answer.run->source_round = 120000;
  BoundSplit good;
  good.split = Split(5);
  good.begin = {100, 0};
  good.end = {128, 0};
  good.leases = {
      {WorkerId("tcp://10.0.0.1:7000"), Incarnation(11), Attempt(1)},
      {WorkerId("tcp://10.0.0.2:7000"), Incarnation(12), Attempt(2)}};
  BoundSplit failed;
  failed.split = Split(6);
  failed.begin = {128, 0};
  failed.end = {160, 0};
  failed.error = DataLoss("a.tfrecord: record 7: the checksum is wrong");
  answer.splits = {good, failed};
  answer.exhausted = true;
  answer.workers = 2;
  answer.heartbeat_interval = absl::Milliseconds(200);
  answer.client_timeout = absl::InfiniteDuration();
  answer.seen = SeenUpTo(43);
  return answer;
}

WorkerBeat BeatOfWorker() {
  WorkerBeat beat;
  beat.worker = WorkerId("tcp://10.0.0.1:7000");
  beat.incarnation = Incarnation(11);
  beat.slots = 4;
  beat.draining = true;
  beat.leases = {{Split(5), Attempt(1)}, {Split(9), Attempt(3)}};
  beat.plans = {PlanId("ab12"), PlanId("cd34")};
  beat.costs = {{PlanId("ab12"), 64, 9600000, absl::Milliseconds(45)}};
  beat.failures = {{Split(8), Attempt(2), Unavailable("disk is gone")}};
  beat.manifests = {{"f00d", absl::OkStatus(), "manifest bytes"},
                    {"beef", NotFound("no file matches 'x*'"), ""}};
  beat.seen = SeenUpTo(44);
  return beat;
}

WorkerAnswer AnswerToWorker() {
  WorkerAnswer answer;
  answer.incarnation = Incarnation(11);
  answer.leases = {
      {Split(5), TheSession(), PlanId("ab12"), {100, 0}, {128, 0}, Attempt(1)}};
  answer.definitions = {{PlanId("ab12"), "graph", "manifest", 7, 1}};
  answer.manifests = {{"f00d", "another graph"}};
  answer.heartbeat_interval = absl::Milliseconds(250);
  answer.park_after = absl::Seconds(1);
  answer.drained = true;
  answer.seen = SeenUpTo(45);
  return answer;
}

Grant TheGrant() {
  Grant grant;
  grant.session = TheSession();
  grant.split = Split(5);
  grant.worker_incarnation = Incarnation(11);
  grant.attempt = Attempt(1);
  grant.opening = Opening(2);
  grant.start = {104, 0};
  grant.total_bytes = 4 << 20;
  grant.head = true;
  return grant;
}

Piece DensePiece() {
  Piece piece;
  piece.begin = {100, 0};
  piece.end = {103, 0};
  piece.chunk.spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"label", DType::kInt64, {}}, {"x", DType::kFloat32, {2}}}});
  piece.chunk.rows = 3;
  piece.chunk.columns = {
      MakeColumn<int64_t>({7, -1, 3}),
      MakeColumn<float>({0.5f, 1.5f, -0.0f, 2.0f, 3.0f, 4.0f}, {2})};
  return piece;
}

Piece RaggedPiece() {
  Piece piece;
  piece.begin = {200, 0};
  piece.end = {209, 0};
  piece.cursors = BitmapRows{{0b00010101, 0b1}};
  piece.chunk = RaggedChunk();
  return piece;
}

// The last element is skipped.
Piece SkippingPiece() {
  Piece piece = RaggedPiece();
  piece.cursors = BitmapRows{{0b00110110}};
  piece.skipped = SkippedElement{{208, 0},
                                 {{"a.tfrecord", 8, 0, 1}, {"b.csv", 3, 4, 0}},
                                 "a.tfrecord: record 8: no image"};
  return piece;
}

// Rows of a slice, several per position, and a final error.
Piece RunsPiece() {
  Piece piece;
  piece.begin = {300, 1};
  piece.end = {302, 5};
  piece.cursors = RunRows{{{300, 1, 1}, {302, 3, 2}}};
  piece.chunk = RaggedChunk().Slice(1, 4);
  piece.error = DataLoss("b.jpg: not an image");
  return piece;
}

Piece WidePiece() {
  Piece piece;
  piece.begin = {0, 0};
  piece.end = {64, 0};
  piece.chunk = WideChunk(64);
  return piece;
}

// Positions without elements; nothing is known of the elements.
Piece EmptyPiece() {
  Piece piece;
  piece.begin = {103, 0};
  piece.end = {110, 0};
  return piece;
}

}  // namespace

Frame FrameOf(Piece piece) {
  return {TheSession(),    Split(5),   WorkerId("tcp://10.0.0.1:7000"),
          Incarnation(11), Attempt(1), Opening(2),
          std::move(piece)};
}

Chunk RaggedChunk() {
  ChunkBuilder builder(std::make_shared<ElementSpec>(
      ElementSpec{{{"image", DType::kUInt8, {kUnknownDim, 2, kUnknownDim}},
                   {"tags", DType::kBytes, {kUnknownDim}},
                   {"path", DType::kBytes, {}},
                   {"good", DType::kBool, {}}}}));
  const std::vector<uint8_t> pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<std::vector<std::string_view>> tags = {
      {"cat", "a"}, {}, {"dog"}, {"x", "", "yz"}};
  for (size_t row = 0; row < 4; ++row) {
    const auto size = static_cast<int64_t>(row);
    builder.AppendDense(0, {size, 2, 4 - size}, pixels.data(), 1);
    builder.AppendBytesRow(1, {static_cast<int64_t>(tags[row].size())},
                           tags[row]);
    builder.AppendBytes(2, "/photos/" + std::string(row, 'p'));
    *builder.AppendRow(3, {}) = static_cast<std::byte>(row % 2);
    builder.FinishRows(1);
  }
  return std::move(builder).Finish();
}

Chunk WideChunk(size_t rows) {
  std::vector<uint8_t> values(rows << 10);
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<uint8_t>(k >> 10);
  }
  const std::vector<int64_t> labels(rows, 5);
  return {std::make_shared<ElementSpec>(ElementSpec{
              {{"row", DType::kUInt8, {1024}}, {"label", DType::kInt64, {}}}}),
          rows,
          {MakeColumn(values, {1024}), MakeColumn(labels)}};
}

ClientLeave LeaveWithReport() {
  return {JobName("photos"), RunNumber(3), TheSession(), Beat().splits};
}

namespace {

std::vector<Sample> UntracedMessages() {
  ClientBeat linked = Beat();
  linked.links = {{"tcp://10.0.0.1:7000", LinkKind::kMemory,
                   LinkCompression::kNone, 7, 1 << 20, 4096},
                  {"tcp://10.0.0.2:7000", LinkKind::kRelay,
                   LinkCompression::kZstd, 8, 1 << 21, 1 << 18}};
  ClientBeat loaded = Beat();
  loaded.load = ReaderLoad{absl::Seconds(9),
                           absl::Seconds(4),
                           absl::Seconds(1),
                           100,
                           1 << 20,
                           2,
                           4096,
                           1 << 16};
  ClientBeat cut_off = loaded;
  cut_off.load->unreachable = {"tcp://10.0.0.1:7000", "tcp://10.0.0.2:7000"};
  ClientBeat skipped = loaded;
  skipped.load->skipped_elements = {"record 17 of a.tfrecord: a wrong CRC",
                                    "record 2 of b.tfrecord: a wrong CRC"};
  WorkerBeat busy = BeatOfWorker();
  busy.load = WorkerLoad{2, 3, absl::Seconds(5), 1 << 20, 1 << 28, {}};
  busy.load->plans = {{PlanId("ab12"),
                       2,
                       1,
                       1,
                       4096,
                       50,
                       1 << 22,
                       {{1, 2'000, 1'500, 0, 3, 24}, {3, 9, 8, 3, 2, 16}}},
                      {PlanId("cd34"), 1, 0, 0, 0, 0, 0, {}}};
  WorkerBeat faulty = busy;
  faulty.load->cache_faults = 2;
  faulty.load->cache_fault = "/cache: No space left on device";
  Grant wishful = TheGrant();
  wishful.compression = LinkCompression::kAuto;
  wishful.checksums = true;
  Grant heavy = TheGrant();
  heavy.weight = 250;
  Grant told = TheGrant();
  told.arriving = 30'000'000;
  Grant with_state = TheGrant();
  with_state.start = {104, 9};
  with_state.state = std::make_shared<const GeneratorState>(
      GeneratorState{{104, 8}, std::string("s\0\xff", 3)});
  Piece stateful = RunsPiece();
  stateful.error = absl::OkStatus();
  stateful.state =
      std::make_shared<const GeneratorState>(GeneratorState{{302, 4}, "state"});
  Frame costly = FrameOf(DensePiece());
  costly.costs =
      std::make_shared<const std::vector<StepCost>>(std::vector<StepCost>{
          {1, 2'000, 1'500, 0, 3, 24}, {StepCost::kPlaceMax, 9, 8, 3, 2, 16}});
  ClientHello first_hello;
  first_hello.job = JobName("@solo");
  first_hello.session = TheSession();
  ClientAnswer skips = Answer();
  skips.splits[0].leases.clear();
  skips.splits[0].skip = SkippedElement{
      {104, 0}, {{"a.tfrecord", 4, 0, 0}}, "record 4 of 'a.tfrecord' kills"};
  ClientAnswer planning;
  planning.job = JobName("photos");
  planning.session = TheSession();
  ClientAnswer finished = planning;
  finished.exhausted = finished.finished = true;
  ClientAnswer passes = planning;
  passes.run = RunInfo{RunNumber(1), 0, 7, 10, 30, PlanId("ab12"), 3, false};
  ClientAnswer sequenced = planning;
  sequenced.run = RunInfo{RunNumber(1), 0, 7, 1, 1, PlanId("ab12")};
  sequenced.run->sequenced = true;
  return {
      {"client_hello", Hello()},
      {"client_hello_first", first_hello},
      {"client_hello_slots", HelloOfPasses()},
      {"client_hello_begins", HelloThatBegins()},
      {"client_hello_sequence", HelloOfASequence()},
      {"client_beat", Beat()},
      {"client_beat_links", linked},
      {"client_beat_load", loaded},
      {"client_beat_skipped", skipped},
      {"client_beat_unreachable", cut_off},
      {"client_answer", Answer()},
      {"client_answer_sequenced", sequenced},
      {"client_answer_planning", planning},
      {"client_answer_skips", skips},
      {"client_reject",
       ClientReject{JobName("photos"), TheSession(), RejectReason::kRefused,
                    InvalidArgument("no component is named 'y'")}},
      {"client_leave",
       ClientLeave{JobName("photos"), RunNumber(3), TheSession(), {}}},
      {"client_leave_report", LeaveWithReport()},
      {"client_leave_finished", ClientLeave{JobName("photos"),
                                            RunNumber(3),
                                            TheSession(),
                                            {},
                                            LeaveReason::kFinished,
                                            loaded.load}},
      {"client_answer_finished", finished},
      {"client_answer_slots", passes},
      {"worker_beat", BeatOfWorker()},
      {"worker_beat_load", busy},
      {"worker_beat_faults", faulty},
      {"worker_answer", AnswerToWorker()},
      {"status_request", StatusRequest{}},
      {"status_reply", StatusReply{R"({"workers":2})"}},
      {"dataset_request", DatasetRequest{"photos", "{}"}},
      {"dataset_reply", DatasetReply{"photos", "", NotFound("no dataset"),
                                     Seen{JournalId(5), 6}}},
      {"refusal", Refusal{FailedPrecondition("another version")}},
      {"grant", TheGrant()},
      {"grant_wishes", wishful},
      {"grant_weight", heavy},
      {"grant_arriving", told},
      {"grant_state", with_state},
      {"relay", Relay{WorkerId("tcp://10.0.0.1:7000"),
                      "peer",
                      {Buffer::CopyOf(std::as_bytes(std::span("inner")))}}},
      {"share_request", ShareRequest{"3f1e0c58-7c1b-4f0e-9a55-2d1c6f0b8a11"}},
      {"share_offer", ShareOffer{"feedmill-0123456789abcdef", 99}},
      {"frame_dense", FrameOf(DensePiece())},
      {"frame_ragged", FrameOf(RaggedPiece())},
      {"frame_runs", FrameOf(RunsPiece())},
      {"frame_skipped", FrameOf(SkippingPiece())},
      {"frame_costs", costly},
      {"frame_state", FrameOf(std::move(stateful))},
      {"frame_empty", FrameOf(EmptyPiece())},
      {"frame_wide", FrameOf(WidePiece())}};
}

SpanBatch TheBatch() {
  const absl::Time at = absl::FromUnixNanos(5'000'000'000);
  TraceSpan span{SpanKind::kComputes,
                 {JournalId(5), 6},
                 Attempt(2),
                 at,
                 at + absl::Milliseconds(3),
                 {7, 8},
                 {9, 10},
                 11,
                 12,
                 13,
                 14,
                 15};
  return {21, 22, at, absl::Milliseconds(-4), {span, span}};
}

std::vector<Sample> TracedMessages() {
  const absl::Time at = absl::FromUnixNanos(6'000'000'000);
  const TraceOrder order{at, {21, 23}};
  ClientBeat beat = Beat();
  beat.spans = TheBatch();
  ClientAnswer answer = Answer();
  answer.tracing = order;
  ClientLeave leave = LeaveWithReport();
  leave.spans = TheBatch();
  WorkerBeat worker = BeatOfWorker();
  worker.spans = {TheBatch(), {23, 0, at, absl::InfiniteDuration(), {}}};
  WorkerAnswer leases = AnswerToWorker();
  leases.tracing = order;
  leases.leases.at(0).trace = 21;
  TraceReport report;
  report.status = NotFound("no job");
  report.trace = 21;
  report.now = report.begin = at;
  report.end = at + absl::Seconds(10);
  report.complete = true;
  report.first = 3;
  report.spans = TheBatch().spans;
  report.processes = {
      {"dispatcher", absl::ZeroDuration(), absl::ZeroDuration(), 0},
      {"worker w", absl::Seconds(-1), absl::InfiniteDuration(), 4}};
  report.places = {"", "source"};
  report.lost = 5;
  report.waits_for = "a worker";
  WorkerBeat registration = BeatOfWorker();
  registration.allows_python = true;
  registration.python = PythonInterpreter{
      "/usr/bin/python3", "3.11.2", {"cloudpickle==3.1.0", "numpy==2.1.0"}};
  WorkerBeat released = BeatOfWorker();
  released.release = "0.1.0";
  StatusRequest events;
  events.events = true;
  WorkerAnswer known = AnswerToWorker();
  known.python_known = true;
  WorkerBeat complete = BeatOfWorker();
  complete.complete = 3;
  WorkerBeat sequences = BeatOfWorker();
  sequences.sequences = true;
  WorkerAnswer deep = AnswerToWorker();
  deep.leases.at(0).depth = 5;
  WorkerAnswer fleet = AnswerToWorker();
  fleet.workers = 7;
  return {{"worker_beat_python", registration},
          {"worker_beat_release", released},
          {"worker_beat_complete", complete},
          {"worker_beat_sequences", sequences},
          {"worker_answer_depth", deep},
          {"status_request_events", events},
          {"worker_answer_python", known},
          {"worker_answer_workers", fleet},
          {"client_beat_spans", beat},
          {"client_answer_tracing", answer},
          {"client_leave_spans", leave},
          {"worker_beat_spans", worker},
          {"worker_answer_tracing", leases},
          {"status_request_trace",
           StatusRequest{TraceRequest{JobName("photos"), 21, true,
                                      absl::Seconds(10), 3}}},
          {"status_reply_trace", StatusReply{"", report}}};
}

}  // namespace

std::vector<Sample> SampleMessages() {
  std::vector<Sample> samples = UntracedMessages();
  for (Sample& traced : TracedMessages()) samples.push_back(std::move(traced));
  return samples;
}

std::string Joined(const Parts& parts) {
  std::string joined;
  for (const Buffer& part : parts) {
    const uint64_t size = part.size();
    joined.append(reinterpret_cast<const char*>(&size), sizeof(size));
    joined.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return joined;
}

}  // namespace feedmill

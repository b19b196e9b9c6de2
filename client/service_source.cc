#include "client/service_source.h"

#include <utility>

#include "client/measured_read.h"
#include "client/quarantine.h"
#include "client/session_options.h"
#include "core/base/status.h"
#include "core/dataset/python_functions.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/operators/repeated_graph.h"
#include "core/operators/sequenced_graph.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/sequenced_place.h"
#include "core/plan/plan.h"
#include "core/plan/plan_id.h"

namespace feedmill {
namespace {

// Interval at which the wait for a run checks the time and the application's
// flags.
constexpr absl::Duration kAwaitInterval = absl::Milliseconds(50);

absl::StatusOr<std::shared_ptr<const Plan>> MakePlan(
    std::shared_ptr<const AnalyzedGraph> graph,
    const FunctionRegistry& registry, const RunInfo& run) {
  if (run.passes > 0) {
    FM_ASSIGN_OR_RETURN(graph, Analyze(RepeatedGraph(graph->graph), registry));
  }
  FM_ASSIGN_OR_RETURN(
      std::shared_ptr<const Plan> plan,
      Plan::Make(graph, run.source_size, run.seed, run.iteration));
  const uint64_t positions =
      run.passes > 0 ? plan->size() / kPassesMax * run.passes : plan->size();
  if (positions == run.positions) return plan;
  return Internal("a run of {} positions, where the pipeline has {}",
                  run.positions, positions);
}

// Waits for the run, and makes the sequence of its elements.
absl::StatusOr<std::unique_ptr<SequenceReader>> JoinRun(
    ServiceSource& source, const std::shared_ptr<const AnalyzedGraph>& graph,
    const std::shared_ptr<const FunctionRegistry>& registry,
    const std::optional<ReadToken>& token, const ReaderParts& parts) {
  FM_ASSIGN_OR_RETURN(const RunInfo run, source.AwaitRun(parts.cancellation));
  const std::string plan_id = PipelinePlanId(run.plan.value());
  if (token) {
    FM_RETURN_IF_ERROR(CheckTokenPasses(*token, run.passes));
    FM_RETURN_IF_ERROR(CheckTokenPlan(*token, plan_id));
  }
  SequenceReader::Options options;
  options.rules = parts.rules;
  options.rules.sequenced = run.sequenced;
  if (token && !token->begins()) options.resume = token->place;
  if (options.resume && run.sequenced) {
    const uint64_t number = token->place.elements;
    options.resume = ReadPlace();
    options.resume->cursor = {0, number};
    options.resume->elements = number;
    options.resume->state = SequencedState(token->place);
  }
  options.shared = graph->graph.options.order == Order::kAny;
  // In mode off, the plan has more passes than the run.
  options.counted = run.passes == 0;
  if (!options.shared && options.counted) options.elements = graph->elements;
  options.source_round = run.source_round;
  options.plan_id = plan_id;
  options.on_skipped = QuarantineOf(graph->graph);
  std::shared_ptr<const AnalyzedGraph> read = graph;
  if (run.sequenced) {
    FM_ASSIGN_OR_RETURN(read, Analyze(SequencedGraph(graph->graph), *registry));
  }
  FM_ASSIGN_OR_RETURN(auto plan, MakePlan(std::move(read), *registry, run));
  FM_ASSIGN_OR_RETURN(const auto loaded,
                      LoadPython(plan->graph(), *registry, "the reader",
                                 PythonPart::kClientStage));
  FM_ASSIGN_OR_RETURN(
      auto sequence,
      SequenceReader::Make(std::move(plan), registry, std::move(options)));
  FM_RETURN_IF_ERROR(sequence->end().value_or(absl::OkStatus()));
  return sequence;
}

}  // namespace

ServiceSource::ServiceSource(std::unique_ptr<ServiceLink> link,
                             std::string service, bool in_order,
                             const ReadOptions& options)
    : in_order_(in_order),
      opened_(SteadyNow()),
      link_(std::move(link)),
      waits_(std::move(service), options),
      in_roster_(ReaderRoster::OfThisProcess(), options.job.name,
                 options.rank.index, [this] { return link_->State(); }) {}

absl::StatusOr<RunInfo> ServiceSource::AwaitRun(
    const Cancellation& cancellation) {
  TakeView(absl::ZeroDuration(), /*for_piece=*/false);
  while (!view_.run.has_value()) {
    if (view_.state == ReadSession::State::kFailed) return view_.failure;
    FM_RETURN_IF_ERROR(cancellation.Check());
    FM_RETURN_IF_ERROR(Late(opened_, /*had_element=*/false));
    TakeView(kAwaitInterval, /*for_piece=*/false);
  }
  return *view_.run;
}

absl::Status ServiceSource::Late(absl::Time begun, bool had_element) {
  waits_.Report(view_, begun);
  return waits_.Late(view_, begun, had_element);
}

void ServiceSource::AddTo(ReadToken& token) const {
  token.incarnation = view_.incarnation.value();
  token.passes = view_.run->passes;
  token.settled = token.passes > 0 && view_.run->settled;
}

void ServiceSource::Leave(LeaveReason why) {
  TraceHandedOut();
  link_->Leave(/*unread=*/false, why);
}

// ---- pieces

absl::StatusOr<PieceSource::TakeResult> ServiceSource::Take(absl::Time deadline,
                                                            Piece& piece) {
  TraceHandedOut();
  ServiceLink::QueuedPiece next;
  if (!link_->Take(drops_, next)) {
    FM_ASSIGN_OR_RETURN(const TakeResult result, Await(deadline, piece, next));
    if (result != TakeResult::kPiece) return result;
  }
  piece = std::move(next.piece);
  // The run failed as a whole.
  if (piece.chunk.spec == nullptr && !piece.error.ok()) return piece.error;
  if (!stage_base_.has_value()) stage_base_ = next.first_row;
  taken_to_ = next.first_row + piece.chunk.rows;
  if (link_->traced()) {
    in_steps_ = TraceSpan{.kind = SpanKind::kClientSteps,
                          .split = next.split,
                          .begin = SteadyNow(),
                          .from = piece.begin,
                          .to = piece.end,
                          .rows = piece.chunk.rows};
  }
  return TakeResult::kPiece;
}

absl::StatusOr<PieceSource::TakeResult> ServiceSource::Await(
    absl::Time deadline, Piece& passed, ServiceLink::QueuedPiece& next) {
  const ProfileSpan span(ReadProfile::kWaiting);
  const ReadTimes::Wait waits(times());
  const absl::Time now = SteadyNow();
  if (link_->traced() && !waits_since_) waits_since_ = now;
  const absl::StatusOr<TakeResult> result =
      AwaitNews(now + (deadline - absl::Now()), passed, next);
  if (!result.ok() || *result != TakeResult::kTimedOut) TraceWait();
  return result;
}

absl::StatusOr<PieceSource::TakeResult> ServiceSource::AwaitNews(
    absl::Time until, Piece& passed, ServiceLink::QueuedPiece& next) {
  absl::Duration wait = absl::ZeroDuration();
  do {
    if (TakeView(wait, /*for_piece=*/true)) return TakeResult::kLost;
    if (view_.queued) {
      if (link_->Take(drops_, next)) return TakeResult::kPiece;
    } else if (view_.state == ReadSession::State::kFailed) {
      return view_.failure;
    } else if (view_.state == ReadSession::State::kEnded) {
      return TakeResult::kEnd;
    } else if (TakePassed(passed)) {
      return TakeResult::kPassed;
    } else if (view_.idle && IsToFlush()) {
      return TakeResult::kIdle;
    }
    wait = until - SteadyNow();
  } while (wait > absl::ZeroDuration());
  return TakeResult::kTimedOut;
}

// Returns true if the pieces taken before belong to another reader.
bool ServiceSource::TakeView(absl::Duration at_most, bool for_piece) {
  view_ = link_->Await(at_most, for_piece);
  if (view_.drops == drops_) return false;
  drops_ = view_.drops;
  stage_base_.reset();
  return true;
}

bool ServiceSource::RenewView() {
  link_->Wake();
  return TakeView(absl::Milliseconds(1), /*for_piece=*/false);
}

// The service sends no pieces without rows; it reports which positions passed.
bool ServiceSource::TakePassed(Piece& passed) {
  if (in_order_) {
    if (view_.cursor <= passed_) return false;
    passed.begin = std::exchange(passed_, view_.cursor);
    passed.end = passed_;
    return true;
  }
  if (empties_.empty()) empties_ = link_->TakeEmpties();
  if (empties_.empty()) return false;
  passed.begin = {empties_.back().first, 0};
  passed.end = {empties_.back().second, 0};
  empties_.pop_back();
  return true;
}

// True if the client's steps have rows to release: no more pieces may come, and
// no reader of the job ends before all elements are handed out. Rows that the
// steps dropped count as used.
bool ServiceSource::IsToFlush() {
  if (flushed_to_ < taken_to_) {
    flushed_to_ = taken_to_;
    return true;
  }
  if (settled_to_ < flushed_to_) {
    settled_to_ = flushed_to_;
    link_->HandOut(flushed_to_, /*soon=*/true);
  }
  return false;
}

// ---- tracing

// The next piece is needed: the trainer has the elements of the last one.
void ServiceSource::TraceHandedOut() {
  if (!in_steps_.has_value()) return;
  TraceSpan span = *std::exchange(in_steps_, std::nullopt);
  span.end = times().stage_ended();
  link_->AddSpan(span);
  span.kind = SpanKind::kHandedOut;
  span.begin = std::exchange(span.end, SteadyNow());
  link_->AddSpan(span);
}

void ServiceSource::TraceWait() {
  if (!waits_since_.has_value()) return;
  const absl::Time begun = *std::exchange(waits_since_, std::nullopt);
  const absl::Time now = SteadyNow();
  if (now - begun < kShortestWait) return;
  link_->AddSpan({.kind = SpanKind::kWaits, .begin = begun, .end = now});
}

absl::Status OpenThroughService(
    const std::shared_ptr<const AnalyzedGraph>& graph,
    const ReadOptions& options, const std::optional<ReadToken>& token,
    ReaderParts& parts) {
  FM_ASSIGN_OR_RETURN(const Address address, ParseAddress(options.service));
  FM_ASSIGN_OR_RETURN(ReadSessionSettings settings,
                      MakeSessionSettings(*graph, options, parts.rules, token));
  const bool shared = settings.shared();
  FM_ASSIGN_OR_RETURN(std::optional<Security> security,
                      LoadSecurity(options.security, Role::kClient));
  FM_ASSIGN_OR_RETURN(
      std::unique_ptr<ServiceLink> link,
      ServiceLink::Connect(
          address, options.cluster_id, std::move(security), std::move(settings),
          {.share = options.transport.kind == Transport::kAuto,
           .via_dispatcher = options.transport.kind == Transport::kRelay,
           .compression = options.transport.compression,
           .profile = MeasurementsOf(options.hooks)}));
  auto source = std::make_unique<ServiceSource>(
      std::move(link), address.ToString(), !shared, options);
  parts.graph = graph->graph;
  parts.opened = source->opened();
  absl::StatusOr<std::unique_ptr<SequenceReader>> sequence =
      JoinRun(*source, graph, options.hooks.registry, token, parts);
  if (!sequence.ok()) {
    source->LeaveUnread();
    return sequence.status();
  }
  parts.sequence = *std::move(sequence);
  if (shared) parts.shared = std::make_unique<SharedHandOut>(*source);
  parts.source = std::move(source);
  return absl::OkStatus();
}

}  // namespace feedmill

#include "client/service_reader.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "client/measured_read.h"
#include "client/quarantine.h"
#include "client/reader_roster.h"
#include "client/service_link.h"
#include "client/session_options.h"
#include "client/wait_limits.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/python_functions.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/operators/slotted_graph.h"
#include "core/pipeline/process_quota.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/sequence_reader.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

// Interval at which a wait checks the time and the cancel flag.
constexpr absl::Duration kAwaitInterval = absl::Milliseconds(50);
// Largest age of the event loop's permission to hand out elements. It is far
// below the half of a sharer's timeout that its lease leaves.
constexpr absl::Duration kPermissionAge = absl::Seconds(1);

class ServiceReader : public Reader {
 public:
  ServiceReader(std::shared_ptr<const AnalyzedGraph> graph, ReadOptions options,
                ReadRules rules, std::optional<ReadToken> token,
                std::unique_ptr<ServiceLink> link, std::string service)
      : asked_(std::move(graph)),
        graph_(asked_),
        shared_(graph_->graph.options.order == Order::kAny),
        options_(std::move(options)),
        rules_(std::move(rules)),
        token_(std::move(token)),
        service_(std::move(service)),
        link_(std::move(link)),
        lane_(MeasurementsOf(options_.hooks)) {
    if (shared_) WatchProgress();
  }
  // Returns unused elements to the job's other readers.
  ~ServiceReader() override {
    Report(Unused());
    EndHandingOut();
    link_->Leave(/*unread=*/false, WhyLeaves());
  }

  // Waits for the run. One that fails has finished nothing.
  absl::Status Join() {
    absl::Status status = WaitForRun();
    if (!status.ok()) link_->Leave(/*unread=*/true);
    return status;
  }

  const ElementSpec& spec() const override { return *graph_->output; }
  uint64_t seed() const override { return sequence_->plan().seed(); }
  uint64_t epoch() const override { return sequence_->plan().iteration(); }
  std::vector<LinkReport> links() const override { return link_->Links(); }
  uint64_t skipped() const override { return sequence_->skipped(); }
  void Cancel() override {
    cancelled_.store(true);
    link_->Interrupt();
  }

 private:
  // Sharers: the last chunk that the application was given.
  struct Given {
    uint64_t rows = 0;   // 0: none, or it is another reader's now
    uint64_t base = 0;   // rows pulled before those that output.InputOf counts
    uint64_t drops = 0;  // ReadSession::drops then
    ClientStage::Output output;  // without the chunk
  };

  class TracedWait;

  absl::StatusOr<std::optional<Chunk>> FetchChunk() override;
  bool OnProgress(uint64_t unread) override;
  Chunk Give(ClientStage::Output output);
  void Report(uint64_t unread);
  absl::Status WaitForRun();
  bool Cancelled() const {
    return cancelled_.load() ||
           (options_.hooks.cancel != nullptr && options_.hooks.cancel->load());
  }
  LeaveReason WhyLeaves() const {
    if (sequence_ != nullptr && end() && end()->ok()) {
      return LeaveReason::kFinished;
    }
    return Cancelled() ? LeaveReason::kCancelled : LeaveReason::kLeft;
  }
  bool Interrupted() const {
    return options_.hooks.interrupted && options_.hooks.interrupted();
  }
  absl::StatusOr<std::string> SaveBefore(uint64_t unread) const override;
  absl::StatusOr<uint64_t> NumberBefore(uint64_t unread) const override;
  uint64_t PassBefore(uint64_t unread) const override;
  std::optional<uint64_t> LeftBefore(uint64_t unread) const override;
  std::optional<uint64_t> Total() const override;
  absl::StatusOr<std::optional<Chunk>> FetchWhole();
  absl::StatusOr<std::shared_ptr<const Plan>> MakePlan(const RunInfo& run);
  // Advances the sequence until an output is ready. False at the end, or if
  // interrupted_.
  bool AwaitOutput();
  // Waits for a piece; an error ends the sequence.
  void Fetch();
  void Advance(const ServiceLink::QueuedPiece& next);
  void EndHandingOut();
  void FlushStage();
  void WatchPasses();
  // True if this reader may hand out elements. Waits for a fresh permission of
  // the event loop.
  bool MayHandOut();
  void LookForDrops(const ServiceLink::View& view);
  // Runs `work` of the client's steps: measures it, and bounds its memory.
  template <class F>
  void InStage(const F& work) {
    const ByteBudget budget(options_.limits.element_bytes_max);
    const ReadTimes::Stage measured(link_->times());
    work();
  }
  void FinishSequence() {
    InStage([&] { sequence_->Finish(); });
  }
  const std::optional<absl::Status>& end() const { return sequence_->end(); }
  void EndWith(absl::Status status) { sequence_->EndWith(std::move(status)); }

  const std::shared_ptr<const AnalyzedGraph> asked_;  // the graph in tokens
  std::shared_ptr<const AnalyzedGraph> graph_;  // of the whole run, once joined
  const bool shared_;                           // with other readers of the job
  const ReadOptions options_;
  const ReadRules rules_;
  const std::optional<ReadToken> token_;
  const std::string service_;
  const std::unique_ptr<ServiceLink> link_;
  ReadingLane lane_;
  std::atomic<bool> cancelled_{false};

  std::unique_ptr<SequenceReader> sequence_;  // null until the run is known
  // Sharers, as numbers of rows pulled: rows that the sequence has taken, rows
  // before its last Flush, and of these the rows that were reported as used.
  uint64_t taken_to_ = 0;
  uint64_t flushed_to_ = 0;
  uint64_t settled_to_ = 0;
  ServiceLink::View view_;
  uint64_t drops_ = 0;
  std::optional<uint64_t> stage_base_;  // rows pulled before the stage's first
  Given given_;
  uint64_t reported_ = 0;  // rows pulled that were reported to the link as used
  bool had_element_ = false;
  const absl::Time made_ = SteadyNow();
  WaitLimits waits_{service_, options_};
  bool interrupted_ = false;  // the wait of this call ended without data
  // While the job is traced: the piece whose elements the trainer is given.
  std::optional<TraceSpan> handing_out_;
  // Last: its function uses the link.
  const ReaderRoster::Entry in_roster_{ReaderRoster::OfThisProcess(),
                                       options_.job.name, options_.rank.index,
                                       [this] { return link_->State(); }};
};

absl::Status ServiceReader::WaitForRun() {
  ServiceLink::View view =
      link_->Await(absl::ZeroDuration(), /*for_piece=*/false);
  while (!view.run.has_value()) {
    if (view.state == ReadSession::State::kFailed) return view.failure;
    if (Cancelled()) return feedmill::Cancelled("reading was cancelled");
    if (Interrupted()) return feedmill::Cancelled("reading was interrupted");
    FM_RETURN_IF_ERROR(waits_.Late(view, made_, had_element_));
    waits_.Report(view, made_);
    view = link_->Await(kAwaitInterval, /*for_piece=*/false);
  }
  view_ = view;
  drops_ = view.drops;
  if (token_) {
    FM_RETURN_IF_ERROR(CheckTokenSlots(*token_, view.run->slots));
    FM_RETURN_IF_ERROR(CheckTokenPlan(*token_, view.run->plan.value()));
  }
  SequenceReader::Options options;
  options.rules = rules_;
  if (token_ && !token_->begins()) options.resume = token_->place;
  // Slots of workers have numbers of their own.
  if (!shared_ && view.run->slots == 0) options.elements = graph_->elements;
  options.source_round = view.run->source_round;
  options.plan_id = view.run->plan.value();
  options.on_skipped = QuarantineOf(graph_->graph);
  options.shared = shared_;
  FM_ASSIGN_OR_RETURN(auto plan, MakePlan(*view.run));
  FM_ASSIGN_OR_RETURN(const auto loaded,
                      LoadPython(*graph_, *options_.hooks.registry,
                                 "the reader", PythonPart::kClientStage));
  FM_ASSIGN_OR_RETURN(
      sequence_, SequenceReader::Make(std::move(plan), options_.hooks.registry,
                                      std::move(options)));
  return end().value_or(absl::OkStatus());
}

absl::StatusOr<std::string> ServiceReader::SaveBefore(uint64_t unread) const {
  if (shared_) {
    return FailedPrecondition(
        "a reader of order any has no place in a sequence to save");
  }
  std::optional<ReadPlace> place = sequence_->PlaceBefore(unread);
  if (!place.has_value()) return TooManyUnread(unread);
  ReadToken token = MakeToken(asked_->graph, rules_, *std::move(place));
  token.plan = view_.run->plan.value();
  token.seed = seed();
  token.iteration = epoch();
  token.incarnation = view_.incarnation.value();
  token.slots = view_.run->slots;
  token.settled = token.slots > 0 && view_.run->settled;
  return EncodeToken(token);
}

absl::StatusOr<uint64_t> ServiceReader::NumberBefore(uint64_t unread) const {
  if (shared_) {
    return FailedPrecondition(
        "elements of order any have no numbers in a sequence");
  }
  const std::optional<ReadPlace> place = sequence_->PlaceBefore(unread);
  if (!place.has_value()) return TooManyUnread(unread);
  return place->elements;
}

uint64_t ServiceReader::PassBefore(uint64_t unread) const {
  return sequence_->PassBefore(unread);
}

// Slots of workers have numbers of their own.
std::optional<uint64_t> ServiceReader::Total() const {
  if (view_.run->slots > 0) return std::nullopt;
  return sequence_->size();
}

std::optional<uint64_t> ServiceReader::LeftBefore(uint64_t unread) const {
  if (view_.run->slots > 0) return std::nullopt;
  return sequence_->LeftBefore(unread);
}

absl::StatusOr<std::shared_ptr<const Plan>> ServiceReader::MakePlan(
    const RunInfo& run) {
  if (run.slots > 0) {
    FM_ASSIGN_OR_RETURN(
        graph_, Analyze(SlottedGraph(graph_->graph), *options_.hooks.registry));
  }
  FM_ASSIGN_OR_RETURN(
      std::shared_ptr<const Plan> plan,
      Plan::Make(graph_, run.source_size, run.seed, run.iteration));
  const uint64_t positions =
      run.slots > 0 ? plan->size() / kSlotsMax * run.slots : plan->size();
  if (positions == run.positions) return plan;
  return Internal("a run of {} positions, where the pipeline has {}",
                  run.positions, positions);
}

absl::StatusOr<std::optional<Chunk>> ServiceReader::FetchChunk() {
  try {
    return FetchWhole();
  } catch (const std::bad_alloc& error) {
    EndWith(StatusOf(error));
    return StatusOf(error);
  }
}

absl::StatusOr<std::optional<Chunk>> ServiceReader::FetchWhole() {
  const ReadingLane::Call measured(lane_);
  link_->times().Begin();
  if (shared_) {
    Report(0);
    given_ = {};
  }
  for (;;) {
    if (Cancelled()) {
      EndWith(feedmill::Cancelled("reading was cancelled"));
      if (!end()->ok()) return *end();
    }
    if (!AwaitOutput()) {
      if (std::exchange(interrupted_, false)) {
        return feedmill::Cancelled("reading was interrupted");
      }
      FM_RETURN_IF_ERROR(sequence_->FinalStatus());
      return std::optional<Chunk>();
    }
    const bool may_hand_out = MayHandOut();
    ClientStage::Output output;
    if (!sequence_->Pop(output)) continue;
    if (!may_hand_out) continue;  // it is another reader's now
    had_element_ = true;
    return std::optional<Chunk>(Give(std::move(output)));
  }
}

// ---- elements that a sharer's application has used (P-172, P-173)

Chunk ServiceReader::Give(ClientStage::Output output) {
  Chunk chunk = std::move(output.chunk);
  if (shared_) {
    given_ = {chunk.rows, stage_base_.value_or(0), drops_, std::move(output)};
  }
  return chunk;
}

// Reports all rows of the last chunk as used, except its last `unread` rows.
void ServiceReader::Report(uint64_t unread) {
  if (unread >= given_.rows || given_.drops != drops_) return;
  const auto last = static_cast<size_t>(given_.rows - unread - 1);
  reported_ = std::max(reported_, given_.base + given_.output.InputOf(last));
  link_->HandOut(reported_, /*soon=*/unread == 0);
}

bool ServiceReader::OnProgress(uint64_t unread) {
  if (!shared_) return true;
  Report(unread);
  const bool go_on = unread == 0 || (given_.rows > 0 && MayHandOut() &&
                                     given_.drops == drops_);
  if (!go_on) given_ = {};
  return go_on;
}

bool ServiceReader::AwaitOutput() {
  while (!sequence_->ready()) {
    if (handing_out_.has_value()) EndHandingOut();
    if (end()) {
      link_->Leave(false, WhyLeaves());  // unused elements go to other readers
      return false;
    }
    if (sequence_->done()) {
      FinishSequence();  // short batches come before the end
      if (!shared_) link_->Leave(false, WhyLeaves());
      continue;
    }
    if (const auto* next = link_->Next()) {
      Advance(*next);
    } else {
      Fetch();
      if (interrupted_) return false;
    }
  }
  return true;
}

// Lets the sequence take its next piece, unless the piece is another reader's.
void ServiceReader::Advance(const ServiceLink::QueuedPiece& next) {
  if (next.drops != drops_) {
    view_ = link_->Await(absl::ZeroDuration(), /*for_piece=*/false);
    LookForDrops(view_);
    if (next.drops != drops_) return link_->DropNext();
  }
  if (!stage_base_.has_value()) stage_base_ = next.first_row;
  taken_to_ = next.first_row + next.piece.chunk.rows;
  std::optional<TraceSpan> span;
  if (link_->traced()) {
    span = TraceSpan{.kind = SpanKind::kClientSteps,
                     .split = next.split,
                     .begin = SteadyNow(),
                     .from = next.piece.begin,
                     .to = next.piece.end,
                     .rows = next.piece.chunk.rows};
  }
  InStage([&] { sequence_->PullFrom(*link_, absl::InfinitePast()); });
  if (!span.has_value()) return;
  span->end = SteadyNow();
  link_->AddSpan(*span);
  span->kind = SpanKind::kHandedOut;
  span->begin = span->end;
  handing_out_ = span;
}

// The next piece is needed: the trainer has the elements of the last one.
void ServiceReader::EndHandingOut() {
  if (!handing_out_.has_value()) return;
  handing_out_->end = SteadyNow();
  link_->AddSpan(*handing_out_);
  handing_out_.reset();
}

// The service sends no pieces without rows; it reports which positions passed.
void ServiceReader::WatchPasses() {
  if (!shared_) return sequence_->PassTo(view_.cursor);
  for (const auto& [begin, end] : link_->TakeEmpties()) {
    sequence_->PassOver(begin, end);
  }
}

// Records the wait for pieces as a span, if the job is traced when it begins.
class ServiceReader::TracedWait {
 public:
  explicit TracedWait(ServiceLink& link) : link_(link) {
    if (link.traced()) begun_ = SteadyNow();
  }
  ~TracedWait() {
    if (!begun_.has_value()) return;
    const absl::Time now = SteadyNow();
    if (now - *begun_ < kShortestWait) return;
    link_.AddSpan({.kind = SpanKind::kWaits, .begin = *begun_, .end = now});
  }
  TracedWait(const TracedWait&) = delete;
  TracedWait& operator=(const TracedWait&) = delete;

 private:
  ServiceLink& link_;
  std::optional<absl::Time> begun_;
};

void ServiceReader::Fetch() {
  const ProfileSpan span(ReadProfile::kWaiting);
  const ReadTimes::Wait waits(link_->times());
  const TracedWait traced(*link_);
  const absl::Time begun = had_element_ ? SteadyNow() : made_;
  absl::Duration wait = absl::ZeroDuration();
  while (!end()) {
    view_ = link_->Await(wait, /*for_piece=*/true);
    wait = kAwaitInterval;
    LookForDrops(view_);
    if (view_.queued) return;
    waits_.Report(view_, begun);
    if (view_.state == ReadSession::State::kFailed) {
      EndWith(view_.failure);
    } else if (view_.state == ReadSession::State::kEnded) {
      FinishSequence();
    } else if (WatchPasses(); end()) {
      return;
    } else if (Cancelled()) {
      EndWith(feedmill::Cancelled("reading was cancelled"));
    } else if (Interrupted()) {
      interrupted_ = true;
      return;
    } else if (absl::Status late = waits_.Late(view_, begun, had_element_);
               !late.ok()) {
      EndWith(std::move(late));
    } else if (view_.idle && flushed_to_ < taken_to_) {
      return FlushStage();
    } else if (view_.idle && settled_to_ < flushed_to_) {
      settled_to_ = flushed_to_;
      reported_ = std::max(reported_, flushed_to_);
      link_->HandOut(reported_, /*soon=*/true);
    }
  }
}

// Releases short batches: no more pieces may come, and no reader of the job
// ends before all elements are handed out. Rows that the stage dropped count as
// used.
void ServiceReader::FlushStage() {
  flushed_to_ = taken_to_;
  InStage([&] { sequence_->Flush(); });
}

void ServiceReader::LookForDrops(const ServiceLink::View& view) {
  if (view.drops == drops_) return;
  drops_ = view.drops;
  stage_base_.reset();
  if (absl::Status status = sequence_->Restart(); !status.ok()) {
    EndWith(std::move(status));
  }
}

// Only a sharer can lose elements that it holds to another reader: in order,
// elements that left the buffers are this reader's.
bool ServiceReader::MayHandOut() {
  if (!shared_) return true;
  const absl::Time begun = SteadyNow();
  const uint64_t drops = drops_;
  while (!view_.may_hand_out || SteadyNow() - view_.turn > kPermissionAge) {
    if (view_.state == ReadSession::State::kFailed) {
      EndWith(view_.failure);
      return false;
    }
    if (Cancelled()) {
      EndWith(feedmill::Cancelled("reading was cancelled"));
      return false;
    }
    if (absl::Status late = waits_.Late(view_, begun, had_element_);
        !late.ok()) {
      EndWith(std::move(late));
      return false;
    }
    link_->Wake();
    view_ = link_->Await(absl::Milliseconds(1), /*for_piece=*/false);
    LookForDrops(view_);
    if (drops != drops_) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> ReadFromService(
    std::shared_ptr<const AnalyzedGraph> graph, ReadOptions options,
    ReadRules rules, std::optional<ReadToken> token) {
  FM_ASSIGN_OR_RETURN(const Address address, ParseAddress(options.service));
  FM_ASSIGN_OR_RETURN(options.limits.element_bytes_max,
                      ElementBytesMax(options.limits.element_bytes_max));
  FM_ASSIGN_OR_RETURN(ReadSessionSettings settings,
                      MakeSessionSettings(*graph, options, rules, token));
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
  auto reader = std::make_unique<ServiceReader>(
      std::move(graph), std::move(options), std::move(rules), std::move(token),
      std::move(link), address.ToString());
  FM_RETURN_IF_ERROR(reader->Join());
  return reader;
}

}  // namespace feedmill

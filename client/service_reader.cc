#include "client/service_reader.h"

#include <time.h>

#include <algorithm>
#include <deque>
#include <new>
#include <utility>
#include <vector>

#include "client/quarantine.h"
#include "client/service_link.h"
#include "client/session_settings.h"
#include "client/wait_limits.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/operators/slotted_graph.h"
#include "core/pipeline/client_stage.h"
#include "core/pipeline/endless_watch.h"
#include "core/pipeline/process_quota.h"
#include "core/pipeline/read_profile.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

// How often a wait looks at the time and at the cancel flag.
constexpr absl::Duration kAwaitInterval = absl::Milliseconds(50);
// How old the reactor's word that elements may be handed out may be; far below
// the half of a sharer's timeout that its lease leaves.
constexpr absl::Duration kWordAge = absl::Seconds(1);

absl::Duration ThreadCpuTime() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

class ServiceReader : public Reader {
 public:
  ServiceReader(std::shared_ptr<const AnalyzedGraph> graph, ReadOptions options,
                ReadRules rules, std::optional<ReadToken> token,
                Incarnation incarnation, std::unique_ptr<ServiceLink> link,
                std::string service)
      : asked_(std::move(graph)),
        graph_(asked_),
        shared_(graph_->graph.options.order == Order::kAny),
        options_(std::move(options)),
        rules_(std::move(rules)),
        token_(std::move(token)),
        incarnation_(incarnation),
        service_(std::move(service)),
        link_(std::move(link)) {
    if (shared_) WatchProgress();
  }
  // Others get what the application has not used.
  ~ServiceReader() override {
    Report(Unused());
    link_->Leave(/*unread=*/false, WhyLeaves());
  }

  // Waits for the run. One that fails has finished nothing.
  absl::Status Join() {
    absl::Status status = WaitForRun();
    if (!status.ok()) link_->Leave(/*unread=*/true);
    return status;
  }

  const ElementSpec& spec() const override { return *graph_->output; }
  uint64_t seed() const override { return plan_->seed(); }
  uint64_t epoch() const override { return plan_->iteration(); }
  std::vector<LinkReport> links() const override { return link_->Links(); }
  uint64_t skipped() const override { return skips_ ? skips_->count() : 0; }
  void Cancel() override {
    cancelled_.store(true);
    link_->Interrupt();
  }

 private:
  // The chunk that the application was given last, for sharers.
  struct Given {
    uint64_t rows = 0;   // 0: none, or it is another reader's now
    uint64_t base = 0;   // rows pulled before those that output.InputOf counts
    uint64_t drops = 0;  // ReadSession::drops then
    ClientStage::Output output;  // without the chunk
  };

  absl::StatusOr<std::optional<Chunk>> FetchChunk() override;
  bool OnProgress(uint64_t unread) override;
  Chunk Give(ClientStage::Output output);
  void Report(uint64_t unread);
  absl::Status WaitForRun();
  bool Cancelled() const {
    return cancelled_.load() ||
           (options_.cancel != nullptr && options_.cancel->load());
  }
  LeaveReason WhyLeaves() const {
    if (end_.has_value() && end_->ok()) return LeaveReason::kFinished;
    return Cancelled() ? LeaveReason::kCancelled : LeaveReason::kLeft;
  }
  bool Interrupted() const {
    return options_.interrupted && options_.interrupted();
  }
  absl::StatusOr<std::string> SaveBefore(uint64_t unread) const override;
  absl::StatusOr<uint64_t> NumberBefore(uint64_t unread) const override;
  uint64_t PassBefore(uint64_t unread) const override;
  std::optional<uint64_t> LeftBefore(uint64_t unread) const override;
  absl::StatusOr<std::optional<Chunk>> FetchWhole();
  absl::Status MakePlan(const RunInfo& run);
  absl::Status MakeStage();
  // The stage's steps make no element larger than this reader takes.
  absl::Status PushIntoStage(const Piece& piece) {
    return InStage([&] { return stage_->Push(piece); });
  }
  absl::Status FlushStage() {
    return InStage([&] { return stage_->Flush(); });
  }
  absl::Status FinishStage() {
    return InStage([&] { return stage_->Finish(); });
  }
  // The next output of the stage, feeding it; nullopt when the end is reached,
  // which end_ then says, or if interrupted_.
  std::optional<ClientStage::Output> NextOutput();
  // Waits for pieces; an error goes to end_.
  void Fetch();
  void Feed(ServiceLink::Handed handed);
  bool Done() const;
  void LetGo();
  absl::Status WatchFed();
  absl::Status WatchPasses();
  // Whether the reactor's word is fresh; waits for it.
  bool MayHandOut();
  void LookForDrops(const ServiceLink::View& view);
  // Runs `work` of the client's steps and measures it.
  template <class F>
  absl::Status InStage(const F& work) {
    const ByteBudget budget(options_.element_bytes_max);
    const absl::Duration begun = ThreadCpuTime();
    absl::Status status = work();
    link_->times().AddStage(ThreadCpuTime() - begun);
    return status;
  }
  void EndWith(absl::Status status) {
    if (!end_.has_value()) end_ = std::move(status);
  }

  const std::shared_ptr<const AnalyzedGraph> asked_;  // what tokens speak of
  std::shared_ptr<const AnalyzedGraph> graph_;  // of the whole run, once joined
  const bool shared_;                           // with other readers of the job
  const ReadOptions options_;
  const ReadRules rules_;
  const std::optional<ReadToken> token_;
  const Incarnation incarnation_;
  const std::string service_;
  const std::unique_ptr<ServiceLink> link_;
  std::atomic<bool> cancelled_{false};

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<ClientStage> stage_;
  std::optional<EndlessWatch> watch_;
  PlaceKeeper keeper_{rules_};
  std::optional<SkipCount> skips_;  // once joined
  Cursor needed_;                   // nothing before it changes the output
  Cursor fed_begin_;                // of the last piece that the stage was fed
  Cursor fed_end_;
  size_t fed_rows_ = 0;  // and the rows, that watch_ was not yet told of
  size_t outputs_ = 0;   // since the last piece
  uint64_t pass_ = 0;    // of the last chunk that it gave
  // Sharers, in rows pulled: what the stage was fed, what of it went through
  // when short batches were let out, and what of that was said to be done with.
  uint64_t fed_to_ = 0;
  uint64_t flushed_to_ = 0;
  uint64_t settled_to_ = 0;
  std::deque<ServiceLink::Handed> pieces_;
  ServiceLink::View view_;
  uint64_t drops_ = 0;
  std::optional<uint64_t> stage_base_;  // rows pulled before the stage's first
  Given given_;
  uint64_t reported_ = 0;  // rows pulled that the link was told are handed out
  bool had_element_ = false;
  const absl::Time made_ = SteadyNow();
  WaitLimits waits_{service_, options_};
  bool interrupted_ = false;  // the wait of this call ended without data
  // What Next returns once the stage is empty: OK is the end of the data.
  std::optional<absl::Status> end_;
};

absl::Status ServiceReader::WaitForRun() {
  ServiceLink::View view = link_->Await(absl::ZeroDuration(), nullptr);
  while (!view.run.has_value()) {
    if (view.state == ReadSession::State::kFailed) return view.failure;
    if (Cancelled()) return feedmill::Cancelled("reading was cancelled");
    if (Interrupted()) return feedmill::Cancelled("reading was interrupted");
    FM_RETURN_IF_ERROR(waits_.Late(view, made_, had_element_));
    waits_.Tell(view, made_);
    view = link_->Await(kAwaitInterval, nullptr);
  }
  view_ = view;
  drops_ = view.drops;
  FM_RETURN_IF_ERROR(MakePlan(*view.run));
  FM_RETURN_IF_ERROR(MakeStage());
  skips_.emplace(*graph_, view.run->plan.value(), QuarantineOf(graph_->graph),
                 token_ ? token_->place.skipped : 0);
  if (token_) {
    FM_RETURN_IF_ERROR(CheckTokenSlots(*token_, view.run->slots));
    FM_RETURN_IF_ERROR(CheckTokenPlan(*token_, view.run->plan.value()));
    if (!token_->begins()) {
      FM_RETURN_IF_ERROR(
          stage_->Restore(token_->place.stage, token_->place.cursor));
    }
    fed_end_ = token_->place.cursor;
  }
  ReadPlace place = token_ ? token_->place : ReadPlace();
  place.stage = stage_->Save();
  keeper_.GoOnFrom(std::move(place));
  return watch_.emplace(*plan_, view.run->source_round, fed_end_.p).Check();
}

absl::StatusOr<std::string> ServiceReader::SaveBefore(uint64_t unread) const {
  if (shared_) {
    return FailedPrecondition(
        "a reader of order any has no place in a sequence to save");
  }
  std::optional<ReadPlace> place = keeper_.Before(unread);
  if (!place.has_value()) return TooManyUnread(unread);
  ReadToken token = MakeToken(asked_->graph, rules_, *std::move(place));
  token.plan = view_.run->plan.value();
  token.seed = plan_->seed();
  token.iteration = plan_->iteration();
  token.incarnation = incarnation_.value();
  token.slots = view_.run->slots;
  token.settled = token.slots > 0 && view_.run->settled;
  return EncodeToken(token);
}

absl::StatusOr<uint64_t> ServiceReader::NumberBefore(uint64_t unread) const {
  if (shared_) {
    return FailedPrecondition(
        "elements of order any have no numbers in a sequence");
  }
  const std::optional<ReadPlace> place = keeper_.Before(unread);
  if (!place.has_value()) return TooManyUnread(unread);
  return place->elements;
}

uint64_t ServiceReader::PassBefore(uint64_t unread) const {
  if (shared_ || !rules_.numbered || !had_element_) return pass_;
  const std::optional<ReadPlace> place = keeper_.Before(unread);
  return place && place->elements > 0 ? plan_->ReachedPass(place->elements - 1)
                                      : 0;
}

std::optional<uint64_t> ServiceReader::LeftBefore(uint64_t unread) const {
  const bool known = rules_.numbered && !shared_ && view_.run->slots == 0;
  if (!known || plan_->size() == kEndless) return std::nullopt;
  const std::optional<ReadPlace> place = keeper_.Before(unread);
  if (!place.has_value()) return std::nullopt;
  return ElementsFrom(rules_, place->elements, plan_->size());
}

absl::Status ServiceReader::MakePlan(const RunInfo& run) {
  if (run.slots > 0) {
    FM_ASSIGN_OR_RETURN(
        graph_, Analyze(SlottedGraph(graph_->graph), *options_.registry));
  }
  FM_ASSIGN_OR_RETURN(
      plan_, Plan::Make(graph_, run.source_size, run.seed, run.iteration));
  const uint64_t positions =
      run.slots > 0 ? plan_->size() / kSlotsMax * run.slots : plan_->size();
  if (positions == run.positions) return absl::OkStatus();
  return Internal("a run of {} positions, where the pipeline has {}",
                  run.positions, positions);
}

absl::Status ServiceReader::MakeStage() {
  FM_ASSIGN_OR_RETURN(stage_, ClientStage::Make(plan_, options_.registry));
  stage_base_.reset();
  return absl::OkStatus();
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
  link_->times().Begin();
  if (shared_) {
    Report(0);
    given_ = {};
  }
  for (;;) {
    if (Cancelled()) {
      EndWith(feedmill::Cancelled("reading was cancelled"));
      if (!end_->ok()) return *end_;
    }
    std::optional<ClientStage::Output> output = NextOutput();
    if (!output.has_value()) {
      if (std::exchange(interrupted_, false)) {
        return feedmill::Cancelled("reading was interrupted");
      }
      if (!end_->ok()) return *end_;
      return std::optional<Chunk>();
    }
    if (output->chunk.rows == 0) continue;
    if (!MayHandOut()) continue;  // it is another reader's now
    if (!shared_) output->chunk = keeper_.Keep(std::move(output->chunk));
    if (output->chunk.rows == 0) continue;
    link_->times().SetSkipped(skips_->count());
    had_element_ = true;
    pass_ = output->pass;
    return std::optional<Chunk>(Give(*std::move(output)));
  }
}

// ---- what a sharer's application has used (P-172, P-173)

Chunk ServiceReader::Give(ClientStage::Output output) {
  Chunk chunk = std::move(output.chunk);
  if (shared_) {
    given_ = {chunk.rows, stage_base_.value_or(0), drops_, std::move(output)};
  }
  return chunk;
}

// All of the last chunk is used but its last `unread` rows.
void ServiceReader::Report(uint64_t unread) {
  if (unread >= given_.rows || given_.drops != drops_) return;
  const auto last = static_cast<size_t>(given_.rows - unread - 1);
  reported_ = std::max(reported_, given_.base + given_.output.InputOf(last));
  link_->HandOut(reported_, /*soon=*/unread == 0 && pieces_.empty());
}

bool ServiceReader::OnProgress(uint64_t unread) {
  if (!shared_) return true;
  Report(unread);
  const bool go_on = unread == 0 || (given_.rows > 0 && MayHandOut() &&
                                     given_.drops == drops_);
  if (!go_on) given_ = {};
  return go_on;
}

std::optional<ClientStage::Output> ServiceReader::NextOutput() {
  for (;;) {
    ClientStage::Output output;
    if (stage_->Pop(output)) {
      ++outputs_;
      return output;
    }
    if (end_.has_value()) {
      link_->Leave(false, WhyLeaves());  // what it still has is for others
      return std::nullopt;
    }
    if (Done()) {
      // Lets short batches out; they come before the end.
      EndWith(FinishStage());
      if (!shared_) link_->Leave(false, WhyLeaves());
      continue;
    }
    if (pieces_.empty()) Fetch();
    if (interrupted_) return std::nullopt;
    if (pieces_.empty()) continue;  // the end, or short batches
    ServiceLink::Handed handed = std::move(pieces_.front());
    pieces_.pop_front();
    Feed(std::move(handed));
  }
}

// Nothing that could still come changes the output. What sharers get does not
// come in order: for them the last position is not the end.
bool ServiceReader::Done() const {
  return shared_ ? stage_->needed_from() == kEndless : stage_->done();
}

void ServiceReader::Feed(ServiceLink::Handed handed) {
  if (handed.drops != drops_) return;  // another reader's by now
  Piece& piece = handed.piece;
  // The run failed as a whole.
  if (piece.chunk.spec == nullptr && !piece.error.ok()) {
    EndWith(piece.error);
    return;
  }
  if (piece.end < needed_) return;
  if (piece.begin < needed_) piece = piece.From(needed_);
  if (absl::Status empty = WatchFed(); !empty.ok()) {
    EndWith(std::move(empty));
    return;
  }
  if (!stage_base_.has_value()) stage_base_ = handed.first_row;
  fed_to_ = handed.first_row + piece.chunk.rows;
  if (!shared_) {
    keeper_.Feed(piece.begin, stage_->Save(), skips_->count());
  }
  if (absl::Status status = PushIntoStage(piece); !status.ok()) {
    EndWith(std::move(status));
    return;
  }
  // An error among what is not needed is none.
  const uint64_t needed =
      rules_.numbered ? keeper_.NeededFrom(piece.end.p) : stage_->needed_from();
  if (!shared_ && needed > piece.end.p) {
    needed_ = {needed, 0};
    if (!stage_->done()) link_->SkipTo(needed_);
  } else if (!piece.error.ok()) {
    EndWith(piece.error);
    return;
  } else if (piece.skipped) {
    if (absl::Status full = skips_->Add(*piece.skipped); !full.ok()) {
      EndWith(std::move(full));
      return;
    }
  }
  fed_begin_ = piece.begin;
  fed_end_ = piece.end;
  fed_rows_ += piece.chunk.rows;
}

// Called when the stage is empty: what was fed has made its outputs by then.
absl::Status ServiceReader::WatchFed() {
  if (shared_ && fed_rows_ == 0) return absl::OkStatus();
  // Every position makes an element, if not this rank's.
  if (rules_.numbered && !shared_) return absl::OkStatus();
  const size_t rows = std::exchange(fed_rows_, 0);
  const size_t outputs = std::exchange(outputs_, 0);
  if (!shared_) return watch_->Advance(fed_end_, rows, outputs);
  return watch_->AdvanceShared(fed_begin_.p, fed_end_.p, rows, outputs);
}

// Pieces without rows do not come this far; that positions went by does.
absl::Status ServiceReader::WatchPasses() {
  FM_RETURN_IF_ERROR(WatchFed());
  if (shared_) {
    for (const auto& [begin, end] : link_->TakeEmpties()) {
      FM_RETURN_IF_ERROR(watch_->AdvanceShared(begin, end, 0, 0));
    }
    return absl::OkStatus();
  }
  if (rules_.numbered) return absl::OkStatus();
  return watch_->Advance(std::max(fed_end_, view_.cursor), 0, 0);
}

void ServiceReader::Fetch() {
  const ProfileSpan span(ReadProfile::kWaiting);
  const ReadTimes::Wait waits(link_->times());
  const absl::Time begun = had_element_ ? SteadyNow() : made_;
  absl::Duration wait = absl::ZeroDuration();
  while (pieces_.empty() && !end_.has_value()) {
    view_ = link_->Await(wait, &pieces_);
    wait = kAwaitInterval;
    LookForDrops(view_);
    if (!pieces_.empty()) return;
    waits_.Tell(view_, begun);
    if (view_.state == ReadSession::State::kFailed) {
      EndWith(view_.failure);
    } else if (view_.state == ReadSession::State::kEnded) {
      EndWith(FinishStage());
    } else if (absl::Status empty = WatchPasses(); !empty.ok()) {
      EndWith(std::move(empty));
    } else if (Cancelled()) {
      EndWith(feedmill::Cancelled("reading was cancelled"));
    } else if (Interrupted()) {
      interrupted_ = true;
      return;
    } else if (absl::Status late = waits_.Late(view_, begun, had_element_);
               !late.ok()) {
      EndWith(std::move(late));
    } else if (view_.idle && flushed_to_ < fed_to_) {
      return LetGo();
    } else if (view_.idle && settled_to_ < flushed_to_) {
      settled_to_ = flushed_to_;
      reported_ = std::max(reported_, flushed_to_);
      link_->HandOut(reported_, /*soon=*/true);
    }
  }
}

// Nothing more may come, and until all is handed out no reader is done. What
// the stage dropped is done with, too.
void ServiceReader::LetGo() {
  flushed_to_ = fed_to_;
  if (absl::Status status = FlushStage(); !status.ok()) {
    EndWith(std::move(status));
  }
}

void ServiceReader::LookForDrops(const ServiceLink::View& view) {
  if (view.drops == drops_) return;
  drops_ = view.drops;
  std::erase_if(pieces_, [&](const ServiceLink::Handed& handed) {
    return handed.drops != drops_;
  });
  if (absl::Status status = MakeStage(); !status.ok()) {
    EndWith(std::move(status));
  }
}

// Only sharers can find that what they hold was given to another: in order,
// what left the buffers is this reader's.
bool ServiceReader::MayHandOut() {
  if (!shared_) return true;
  const absl::Time begun = SteadyNow();
  const uint64_t drops = drops_;
  while (!view_.may_hand_out || SteadyNow() - view_.turn > kWordAge) {
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
    view_ = link_->Await(absl::Milliseconds(1), nullptr);
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
  FM_ASSIGN_OR_RETURN(options.element_bytes_max,
                      ElementBytesMax(options.element_bytes_max));
  FM_ASSIGN_OR_RETURN(ReadSessionSettings settings,
                      MakeSessionSettings(*graph, options, rules, token));
  FM_ASSIGN_OR_RETURN(std::optional<Security> security,
                      LoadSecurity(options.security, Role::kClient));
  const Incarnation incarnation = settings.session.incarnation;
  FM_ASSIGN_OR_RETURN(
      std::unique_ptr<ServiceLink> link,
      ServiceLink::Connect(
          address, options.cluster_id, std::move(security), std::move(settings),
          {.share = options.transport == Transport::kAuto,
           .via_dispatcher = options.transport == Transport::kRelay,
           .compression = options.compression,
           .profile = options.profile}));
  auto reader = std::make_unique<ServiceReader>(
      std::move(graph), std::move(options), std::move(rules), std::move(token),
      incarnation, std::move(link), address.ToString());
  FM_RETURN_IF_ERROR(reader->Join());
  return reader;
}

}  // namespace feedmill

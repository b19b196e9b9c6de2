#include "core/pipeline/input_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/generator_source.h"
#include "core/io/read_stop.h"
#include "core/pipeline/held_rows.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "core/sources/source_plan.h"

namespace feedmill {
namespace {

// Bounds of the elements made at once. They are small because a combining
// source may take few elements of each input.
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr uint64_t kPositionsTogether = 4'096;
// Time for which all inputs of a source make elements in turn, if each is
// asked. It is short, because a row may need all of them.
constexpr std::chrono::nanoseconds kInputTime = std::chrono::milliseconds(40);
// Interval at which a wait for elements checks whether they are still needed.
constexpr absl::Duration kStopInterval = absl::Milliseconds(50);

// Pieces are small also where elements are small, because a piece is made again
// for a place in it.
size_t PieceBytes(const WorkerStage& stage) {
  const size_t each = stage.EstimatedBytes();
  return each > 0 ? std::min<size_t>(kPieceBytes, kPositionsTogether * each)
                  : kPieceBytes;
}

// True if `is` holds for the pipeline, what it caches, or an input.
bool AnyPart(const AnalyzedGraph& graph, bool (*is)(const AnalyzedGraph&)) {
  return is(graph) || (graph.cached != nullptr && AnyPart(*graph.cached, is)) ||
         std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [is](const auto& input) { return AnyPart(*input, is); });
}

}  // namespace

bool HasGenerator(const AnalyzedGraph& graph) {
  return AnyPart(graph, [](const AnalyzedGraph& part) {
    return part.graph.source.As<GeneratorSource>() != nullptr;
  });
}

bool HasStreams(const AnalyzedGraph& graph) {
  return AnyPart(
      graph, [](const AnalyzedGraph& part) { return part.source.streamed; });
}

InputStream::InputStream(std::shared_ptr<const WorkerStage> stage,
                         std::unique_ptr<SequenceReader> sequence,
                         bool holds_rows)
    : stage_(std::move(stage)),
      scratch_(stage_->NewScratch()),
      sequence_(std::move(sequence)),
      has_client_steps_(sequence_->plan().graph().client_begin <
                        sequence_->plan().graph().steps.size()),
      holds_rows_(holds_rows),
      piece_bytes_(PieceBytes(*stage_)),
      positions_ahead_(stage_->PositionsAhead()) {
  const AnalyzedGraph& graph = sequence_->plan().graph();
  const ElementSpec& made = graph.InputOf(graph.steps.size());
  for (const ComponentSpec& c : graph.output->components) {
    columns_.push_back(static_cast<size_t>(made.Find(c.name)));
  }
}

absl::StatusOr<std::unique_ptr<InputStream>> InputStream::Make(
    const std::shared_ptr<const AnalyzedGraph>& graph,
    std::shared_ptr<const Manifest> manifest, const StageContext& context,
    uint64_t seed, uint64_t iteration, bool holds_rows, size_t inputs,
    const std::optional<StreamPlace>& place) {
  FM_ASSIGN_OR_RETURN(const SourcePlan source,
                      PlanSource(*graph, *manifest, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto plan,
                      Plan::Make(graph, source.size, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto stage,
                      WorkerStage::Make(plan, std::move(manifest), context));
  SequenceReader::Options options;
  options.source_round = source.round;
  options.capped = false;
  options.keeps_place = false;
  if (place) {
    if (place->at > Cursor{plan->size(), 0}) {
      return InvalidArgument("the place is behind the end of its input");
    }
    options.resume = ReadPlace{.cursor = place->at, .stage = place->stage};
    if (place->state != nullptr) stage->Restore(*place->state);
  }
  FM_ASSIGN_OR_RETURN(auto sequence,
                      SequenceReader::Make(std::move(plan), context.registry,
                                           std::move(options)));
  auto stream = std::unique_ptr<InputStream>(
      new InputStream(std::move(stage), std::move(sequence), holds_rows));
  stream->scratch_->piece_time = kInputTime / inputs;
  if (place) stream->at_ = place->at;
  // The state of a generator is the one at the last piece. A pass over streams
  // runs here, so that no thread waits while another one waits in it. Requests
  // are announced for all inputs in turn.
  if (context.threads != nullptr && !HasGenerator(*graph) &&
      !HasStreams(*graph) && stream->positions_ahead_ == 0) {
    stream->MakeAhead(context.threads, inputs);
  }
  stream->NotePlace();
  if (place) FM_RETURN_IF_ERROR(stream->PassOver(place->taken));
  return stream;
}

// Lets other threads make elements, too.
void InputStream::MakeAhead(std::shared_ptr<StreamThreads> threads,
                            size_t inputs) {
  PieceMaker::Options& options = ahead_.emplace();
  options.memory_bytes = static_cast<size_t>(threads->bytes_max() / inputs);
  options.piece_bytes = piece_bytes_;
  options.element_bytes_max = ByteBudget::Limit();
  options.shared = std::move(threads);
  options.piece_time = kInputTime / inputs;
}

void InputStream::Begin() {
  if (maker_ != nullptr || !ahead_) return;
  maker_ = std::make_unique<PieceMaker>(stage_, at_, sequence_->plan().size(),
                                        *std::exchange(ahead_, std::nullopt));
  maker_->Begin();
}

void InputStream::StopMaking() {
  ahead_.reset();
  maker_.reset();
}

void InputStream::ReadElsewhere(std::unique_ptr<PieceSource> source,
                                bool outer) {
  moved_ = true;
  outer_ = outer;
  if (source == nullptr) return;
  StopMaking();
  elsewhere_ = std::move(source);
}

// Makes elements after a place once more, and leaves them out.
absl::Status InputStream::PassOver(uint64_t count) {
  while (count > 0) {
    FM_ASSIGN_OR_RETURN(const Next next, Look());
    if (next == Next::kEnd) return absl::OkStatus();
    if (next == Next::kElement) {
      const auto rows = static_cast<size_t>(std::min<uint64_t>(count, left()));
      Take(rows);
      count -= rows;
    } else {
      TakeSkipped();
      --count;
    }
  }
  return absl::OkStatus();
}

// Unless holds_rows_, steps that hold rows keep the place before these rows.
void InputStream::NotePlace() {
  StageState stage = sequence_->SaveStage();
  if (HoldsRows(stage) && !holds_rows_) return;
  place_ = {at_, 0, std::move(stage), stage_->StateAt(at_)};
}

const absl::Status& InputStream::error() const {
  static const absl::Status ok;
  return sequence_->end() ? *sequence_->end() : ok;
}

absl::StatusOr<InputStream::Next> InputStream::Look() {
  while (row_ == chunk_.rows) {
    if (PopChunk()) continue;
    if (skipped_) return skipped_->outer ? Next::kBad : Next::kLeftOut;
    if (sequence_->end()) return Next::kEnd;
    FM_RETURN_IF_ERROR(Feed());
  }
  return Next::kElement;
}

SkippedElement InputStream::TakeSkipped() {
  ++place_.taken;
  return *std::exchange(skipped_, std::nullopt);
}

// Takes the next chunk that is ready; false if there is none.
bool InputStream::PopChunk() {
  ClientStage::Output* const output = sequence_->Next();
  if (output == nullptr) return false;
  std::vector<Column> columns;
  columns.reserve(columns_.size());
  for (const size_t c : columns_) {
    columns.push_back(std::move(output->chunk.columns[c]));
  }
  chunk_ = {sequence_->plan().graph().output, output->chunk.rows,
            std::move(columns)};
  row_ = 0;
  return true;
}

uint64_t InputStream::Announce(uint64_t count) {
  const uint64_t size = sequence_->plan().size();
  const uint64_t begin = std::min(std::max(at_.p, sequence_->needed()), size);
  const uint64_t end = begin + std::min(count, size - begin);
  announce_count_ = count;
  const uint64_t first = std::max(begin, announced_);
  if (first < end) {
    stage_->Announce(first, end, *scratch_);
    announced_ = end;
  }
  return end - begin;
}

// Returns the number of positions that a piece may have. It is a quarter of the
// announced ones, so that more are announced while they are fetched.
uint64_t InputStream::PositionsTogether() const {
  if (positions_ahead_ == 0) return kPositionsTogether;
  const uint64_t announced = std::max(announced_, at_.p) - at_.p;
  return std::clamp<uint64_t>(announced / 4, 1, kPositionsTogether);
}

// Returns the next piece that other workers made; nullopt if they make none any
// more.
absl::StatusOr<std::optional<Piece>> InputStream::TakeElsewhere() {
  for (;;) {
    FM_RETURN_IF_ERROR(ReadStop::Check("the elements of an input"));
    Piece piece;
    const auto taken = elsewhere_->Take(absl::Now() + kStopInterval, piece);
    if (!taken.ok() || *taken == PieceSource::TakeResult::kEnd) break;
    if (*taken == PieceSource::TakeResult::kTimedOut) {
      if (work_) work_();
    } else if (at_ < piece.end || !piece.error.ok()) {
      if (piece.skipped) piece.skipped->outer = outer_;
      return piece;
    }
  }
  elsewhere_.reset();
  return std::nullopt;
}

// Returns the piece at `at_`; nullopt at the end.
absl::StatusOr<std::optional<Piece>> InputStream::NextPiece() {
  if (elsewhere_ != nullptr) {
    FM_ASSIGN_OR_RETURN(auto piece, TakeElsewhere());
    if (piece) return piece;
  }
  // The first piece may be the last one, which is not worth other threads.
  if (std::exchange(first_made_, true)) Begin();
  if (maker_ == nullptr) {
    const uint64_t size = sequence_->plan().size();
    Announce(announce_count_);
    const Cursor end{at_.p + std::min(size - at_.p, PositionsTogether()), 0};
    return stage_->Run(at_, end, piece_bytes_, *scratch_);
  }
  Piece piece;
  absl::Time until = absl::Now();
  FM_ASSIGN_OR_RETURN(auto taken, maker_->Take(until, piece));
  while (taken == PieceSource::TakeResult::kTimedOut) {
    FM_RETURN_IF_ERROR(ReadStop::Check("the elements of an input"));
    const bool worked = maker_->Help() || (work_ && work_());
    until = absl::Now() + (worked ? absl::ZeroDuration() : kStopInterval);
    FM_ASSIGN_OR_RETURN(taken, maker_->Take(until, piece));
  }
  if (taken == PieceSource::TakeResult::kEnd) return std::nullopt;
  return piece;
}

// Gives the sequence its next piece or its end.
absl::Status InputStream::Feed() {
  const uint64_t size = sequence_->plan().size();
  at_ = std::max(at_, Cursor{std::min(sequence_->needed(), size), 0});
  std::optional<Piece> piece;
  if (at_.p < size && !sequence_->done()) {
    NotePlace();
    FM_ASSIGN_OR_RETURN(piece, NextPiece());
  }
  if (!piece) {
    StopMaking();
    elsewhere_.reset();
    sequence_->Finish();
    return absl::OkStatus();
  }
  if (piece->chunk.spec == nullptr) {  // positions without elements
    sequence_->Pass(at_, piece->end);
    at_ = piece->end;
    return absl::OkStatus();
  }
  at_ = piece->end;
  std::optional<SkippedElement> skipped = std::move(piece->skipped);
  piece->skipped.reset();
  // The client's steps have seen no more than the elements before it.
  if (skipped) piece->end = skipped->cursor;
  const uint64_t before = piece->end.p;
  sequence_->Push(*std::move(piece));
  if (maker_ != nullptr && sequence_->needed() > at_.p) {
    maker_->SkipTo(sequence_->needed());
  }
  if (elsewhere_ != nullptr && sequence_->needed() > at_.p) {
    elsewhere_->SkipTo(sequence_->needed());
  }
  if (!skipped || sequence_->end()) return absl::OkStatus();
  if (sequence_->needed() <= before) {
    // Client steps see the whole sequence, so the element has no place among
    // the elements that they make: it was left out before them.
    skipped->outer = skipped->outer && !has_client_steps_;
    skipped_ = std::move(skipped);
  }
  sequence_->Pass({before, 0}, at_);
  return absl::OkStatus();
}

}  // namespace feedmill

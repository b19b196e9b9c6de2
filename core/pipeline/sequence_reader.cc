#include "core/pipeline/sequence_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/status.h"
#include "core/pipeline/sequenced_place.h"

namespace feedmill {

SequenceReader::SequenceReader(std::shared_ptr<const Plan> plan,
                               std::shared_ptr<const FunctionRegistry> registry,
                               Options options)
    : plan_(std::move(plan)),
      registry_(std::move(registry)),
      options_(std::move(options)),
      watch_(*plan_, options_.source_round,
             options_.resume ? options_.resume->cursor.p : 0),
      tracker_(options_.rules),
      skips_(options_.capped ? SkipCapOf(plan_->graph()) : std::nullopt,
             options_.plan_id, options_.on_skipped,
             options_.resume ? options_.resume->skipped : 0) {}

absl::StatusOr<std::unique_ptr<SequenceReader>> SequenceReader::Make(
    std::shared_ptr<const Plan> plan,
    std::shared_ptr<const FunctionRegistry> registry, Options options) {
  auto made = std::unique_ptr<SequenceReader>(new SequenceReader(
      std::move(plan), std::move(registry), std::move(options)));
  FM_RETURN_IF_ERROR(made->Restart());
  ReadPlace place;
  if (const auto& resume = made->options_.resume) {
    place = *resume;
    made->generator_ = place.state;
    FM_RETURN_IF_ERROR(made->stage_->Restore(place.stage, place.cursor));
  }
  made->pushed_ = place.cursor;
  made->reached_ = place.elements;
  place.stage = made->stage_->Save();
  if (made->numbered()) {
    made->needed_ = made->tracker_.NeededFrom(place.cursor.p);
  }
  made->tracker_.ContinueFrom(std::move(place));
  made->Watch(made->watch_.Check());
  return made;
}

absl::Status SequenceReader::Restart() {
  returned_ = false;
  rows_.reset();
  FM_ASSIGN_OR_RETURN(stage_, ClientStage::Make(plan_, registry_,
                                                {.passes = options_.keeps_place,
                                                 .trace = options_.trace}));
  return absl::OkStatus();
}

void SequenceReader::EndWith(absl::Status status) {
  if (!end_) end_ = std::move(status);
}

void SequenceReader::Accept(PieceSource& source,
                            absl::StatusOr<PieceSource::TakeResult> taken,
                            Piece piece) {
  if (!taken.ok()) return EndWith(std::move(taken).status());
  switch (*taken) {
    case PieceSource::TakeResult::kPiece:
      rows_ = std::move(piece);
      return RunRows(source);
    case PieceSource::TakeResult::kPassed:
      return Pass(piece.begin, piece.end);
    case PieceSource::TakeResult::kIdle:
      return Flush();
    case PieceSource::TakeResult::kLost:
      return Watch(Restart());
    case PieceSource::TakeResult::kEnd:
      return Finish();
    case PieceSource::TakeResult::kTimedOut:
      return;
  }
}

void SequenceReader::RunRows(PieceSource& source) {
  using Clock = std::chrono::steady_clock;
  Piece piece = *std::exchange(rows_, std::nullopt);
  const uint64_t end = piece.end.p;
  if (!stage_->paced() || piece.chunk.rows == 0) {
    Push(std::move(piece));
  } else {
    if (piece.chunk.rows > pace_.rows()) {
      rows_ = piece.From(piece.CursorOf(pace_.rows()));
      piece = piece.First(pace_.rows());
    }
    const size_t rows = piece.chunk.rows;
    const Clock::time_point begin = Clock::now();
    Push(std::move(piece));
    pace_.Observe(rows, Clock::now() - begin);
  }
  if (has_rows() || options_.shared || done()) return;
  if (needed_ > end) source.SkipTo(needed_);
}

void SequenceReader::Push(Piece piece) {
  const Cursor needed{needed_, 0};
  if (piece.end < needed) return;
  if (piece.begin < needed) piece = piece.From(needed);
  if (options_.rules.sequenced) {
    reached_ = std::max(reached_, piece.ElementsReached());
    piece = OwnRows(std::move(piece));
  }
  if (options_.keeps_place && !options_.shared) {
    tracker_.Feed(piece.begin, numbered() ? StageState() : stage_->Save(),
                  skips_.count(), StateFor(generator_, piece.begin));
    if (piece.state != nullptr) generator_ = piece.state;
  }
  const absl::Status pushed = stage_->Push(piece);
  outputs_ += stage_->ready();
  if (!pushed.ok()) return EndWith(pushed);
  Account(piece);
}

// Returns the rows of this reader. A worker may have sent no others.
Piece SequenceReader::OwnRows(Piece piece) const {
  const Share& share = options_.rules.share;
  const size_t rows = piece.chunk.rows;
  const bool alone =
      rows == 0 || piece.CursorOf(rows - 1).i == piece.CursorOf(0).i + rows - 1;
  if (share.whole() || !alone || (rows == 1 && share.Has(piece.CursorOf(0).i)))
    return piece;
  const Cursor end = std::exchange(piece.end, piece.begin);
  piece = piece.OfShare(share);  // also if it ends the sequence
  piece.end = end;
  return piece;
}

// Handles the piece's errors and skipped elements, and monitors its progress.
void SequenceReader::Account(const Piece& piece) {
  pushed_ = piece.end;
  const uint64_t needed =
      numbered() ? tracker_.NeededFrom(piece.end.p) : stage_->needed_from();
  if (!options_.shared && needed > piece.end.p) {
    needed_ = std::max(needed_, needed);  // its error changes nothing
  } else if (!piece.error.ok()) {
    return EndWith(piece.error);
  } else if (piece.skipped) {
    if (absl::Status full = skips_.Add(*piece.skipped); !full.ok()) {
      return EndWith(std::move(full));
    }
  }
  if (numbered()) return;  // each position makes an element
  const size_t rows = piece.chunk.rows;
  if (!options_.shared) {
    Watch(watch_.Advance(piece.end, rows, std::exchange(outputs_, 0)));
  } else if (rows > 0) {
    Watch(watch_.AdvanceShared(piece.begin.p, piece.end.p, rows,
                               std::exchange(outputs_, 0)));
  }
}

void SequenceReader::Pass(Cursor begin, Cursor end) {
  if (options_.shared) {
    return Watch(watch_.AdvanceShared(begin.p, end.p, 0, 0));
  }
  if (numbered()) return;
  if (end.p == 0) reached_ = std::max(reached_, end.i);
  pushed_ = std::max(pushed_, end);
  Watch(watch_.Advance(pushed_, 0, 0));
}

void SequenceReader::Finish() {
  if (!end_) end_ = stage_->Finish();
}

absl::Status SequenceReader::FinalStatus() const {
  if (!end_->ok() || !options_.elements) return *end_;
  if (made() == *options_.elements) return absl::OkStatus();
  return DataLoss(
      "the pipeline has {} elements, and {} according to the length of its {}: "
      "correct that length, or leave it out",
      made(), *options_.elements, plan_->graph().graph.source.name());
}

void SequenceReader::Flush() {
  const absl::Status flushed = stage_->Flush();
  outputs_ += stage_->ready();
  if (!flushed.ok()) EndWith(flushed);
}

// Shared pieces come in any order: the last position is not the end.
bool SequenceReader::done() const {
  return options_.shared ? stage_->needed_from() == kInfinite : stage_->done();
}

ClientStage::Output* SequenceReader::Next() {
  if (std::exchange(returned_, false)) stage_->PopFront();
  while (ClientStage::Output* const output = stage_->front()) {
    if (!options_.shared && options_.keeps_place) {
      output->chunk = tracker_.Keep(std::move(output->chunk));
    }
    if (output->chunk.rows > 0) {
      pass_ = output->pass;
      any_output_ = returned_ = true;
      return output;
    }
    stage_->PopFront();
  }
  return nullptr;
}

std::optional<ReadPlace> SequenceReader::PlaceBefore(uint64_t unread) const {
  std::optional<ReadPlace> place = tracker_.Before(unread);
  if (!place || !options_.rules.sequenced) return place;
  return PlaceFromState(place->elements, place->state);
}

uint64_t SequenceReader::PassBefore(uint64_t unread) const {
  if (!numbered() || !any_output_) return pass_;
  const std::optional<ReadPlace> place = tracker_.Before(unread);
  return place && place->elements > 0 ? plan_->ReachedPass(place->elements - 1)
                                      : 0;
}

std::optional<uint64_t> SequenceReader::size() const {
  if (!options_.counted) return std::nullopt;
  if (!numbered()) return options_.elements;
  if (plan_->size() == kInfinite) return std::nullopt;
  return plan_->size();
}

std::optional<uint64_t> SequenceReader::LeftBefore(uint64_t unread) const {
  const std::optional<uint64_t> whole = size();
  const std::optional<ReadPlace> place = tracker_.Before(unread);
  if (!whole || !place) return std::nullopt;
  return ElementsFrom(options_.rules, place->elements, *whole);
}

}  // namespace feedmill

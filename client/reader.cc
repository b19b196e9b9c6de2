#include "feedmill/reader.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/time/clock.h"
#include "client/reader_parts.h"
#include "core/base/byte_budget.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

// Interval at which a wait checks the time and the application's flags.
constexpr absl::Duration kCheckInterval = absl::Milliseconds(50);
// Time of a chunk that a range-for uses before it reports progress.
constexpr absl::Duration kStrideTime = absl::Milliseconds(10);
constexpr uint64_t kStrideMax = 4'096;

// Runs `work` of the client's steps: measures it, and bounds its memory.
template <class F>
void InStage(ReaderParts& parts, const F& work) {
  const ByteBudget budget(parts.element_bytes_max);
  const ReadTimes::Stage measured(parts.source->times());
  work();
}

void Leave(ReaderParts& parts) {
  const std::optional<absl::Status>& end = parts.sequence->end();
  const LeaveReason other = parts.cancellation.cancelled()
                                ? LeaveReason::kCancelled
                                : LeaveReason::kLeft;
  parts.source->Leave(end && end->ok() ? LeaveReason::kFinished : other);
}

// Returns an error if the application interrupts this call. A wait that is too
// long ends the sequence.
absl::Status CheckWait(ReaderParts& parts, absl::Time begun) {
  FM_RETURN_IF_ERROR(parts.cancellation.Check());
  absl::Status late = parts.source->Late(begun, parts.had_element);
  if (!late.ok()) parts.sequence->EndWith(std::move(late));
  return absl::OkStatus();
}

// Returns the next output; null at the end of the sequence.
absl::StatusOr<ClientStage::Output*> AwaitOutput(ReaderParts& parts) {
  SequenceReader& sequence = *parts.sequence;
  absl::Time begun = parts.had_element ? SteadyNow() : parts.opened;
  absl::Time next_check = absl::Now() + kCheckInterval;
  for (;;) {
    if (parts.cancellation.cancelled()) {
      sequence.EndWith(Cancellation::Error());
      if (!sequence.end()->ok()) return *sequence.end();
    }
    if (ClientStage::Output* const output = sequence.Next()) return output;
    if (sequence.end()) {
      Leave(parts);  // other readers get unused elements
      return nullptr;
    }
    if (sequence.done()) {
      InStage(parts, [&] { sequence.Finish(); });  // short batches
      if (parts.shared == nullptr) Leave(parts);
      continue;
    }
    if (sequence.has_rows()) {
      FM_RETURN_IF_ERROR(parts.cancellation.Check());
      InStage(parts, [&] { sequence.RunRows(*parts.source); });
      continue;
    }
    if (absl::Now() >= next_check) {
      FM_RETURN_IF_ERROR(CheckWait(parts, begun));
      next_check = absl::Now() + kCheckInterval;
      continue;
    }
    Piece piece;
    auto taken = parts.source->Take(next_check, piece);
    if (taken.ok() && *taken == PieceSource::TakeResult::kTimedOut) continue;
    if (parts.had_element && taken.ok() &&
        *taken != PieceSource::TakeResult::kPassed) {
      begun = SteadyNow();
    }
    InStage(parts, [&] {
      sequence.Accept(*parts.source, std::move(taken), std::move(piece));
    });
  }
}

// True if the application may have elements of a shared job. If not, the rows
// that the sequence holds are another reader's.
bool MayHandOut(ReaderParts& parts) {
  const absl::StatusOr<bool> may =
      parts.shared->MayHandOut(parts.cancellation, parts.had_element);
  if (!may.ok()) parts.sequence->EndWith(may.status());
  parts.lost = !may.value_or(false);
  return !parts.lost;
}

// Returns the next chunk of the sequence; null at its end.
absl::StatusOr<Chunk*> FetchChunk(ReaderParts& parts) {
  const ReadingLane::Call measured(parts.lane);
  parts.source->times().Begin();
  try {
    if (parts.shared != nullptr) parts.shared->Finish();
    for (;;) {
      if (std::exchange(parts.lost, false)) {
        FM_RETURN_IF_ERROR(parts.sequence->Restart());
      }
      FM_ASSIGN_OR_RETURN(ClientStage::Output* const output,
                          AwaitOutput(parts));
      if (output == nullptr) {
        FM_RETURN_IF_ERROR(parts.sequence->FinalStatus());
        return nullptr;
      }
      if (parts.shared != nullptr && !MayHandOut(parts)) continue;
      parts.had_element = true;
      if (parts.shared != nullptr) parts.shared->Give(*output);
      parts.source->times().Count(output->chunk, parts.sequence->skipped());
      return &output->chunk;
    }
  } catch (const std::bad_alloc& error) {
    parts.sequence->EndWith(StatusOf(error));
    return StatusOf(error);
  }
}

}  // namespace

Reader::Reader(std::unique_ptr<ReaderParts> parts)
    : parts_(std::move(parts)), stride_(parts_->shared == nullptr ? 0 : 1) {}

Reader::~Reader() {
  if (parts_->shared != nullptr) {
    parts_->shared->Report(Unread() +
                           (last_ == reported_at_ ? unreported_ : 0));
  }
  Leave(*parts_);
}

const ElementSpec& Reader::spec() const {
  return *parts_->sequence->plan().graph().output;
}

uint64_t Reader::seed() const { return parts_->sequence->plan().seed(); }

uint64_t Reader::epoch() const { return parts_->sequence->plan().iteration(); }

uint64_t Reader::skipped() const { return parts_->sequence->skipped(); }

std::vector<LinkReport> Reader::links() const {
  return parts_->source->Links();
}

void Reader::Cancel() { parts_->cancellation.Cancel(); }

// ---- the place

uint64_t Reader::UnreadRows(uint64_t unread) const {
  unread += Unread();
  return parts_->even == nullptr ? unread : parts_->even->UnreadRows(unread);
}

absl::StatusOr<std::string> Reader::Save(uint64_t unread) const {
  if (parts_->shared != nullptr) {
    return FailedPrecondition(
        "a reader of order any has no place in a sequence to save");
  }
  const EvenElements* const even = parts_->even.get();
  const SequenceReader& sequence = *parts_->sequence;
  std::optional<ReadPlace> place = sequence.PlaceBefore(UnreadRows(unread));
  unread += Unread();
  if (!place.has_value() || (even != nullptr && !even->InLastChunk(unread))) {
    return TooManyUnread(unread);
  }
  ReadToken token = MakeToken(parts_->graph, parts_->rules, *std::move(place));
  token.plan = sequence.plan_id();
  token.seed = seed();
  token.iteration = epoch();
  parts_->source->AddTo(token);
  if (even != nullptr) even->AddTo(token, unread);
  return EncodeToken(token);
}

absl::StatusOr<uint64_t> Reader::number() const {
  if (parts_->shared != nullptr) {
    return FailedPrecondition(
        "elements of order any have no numbers in a sequence");
  }
  const std::optional<ReadPlace> place =
      parts_->sequence->PlaceBefore(UnreadRows(0));
  if (!place.has_value()) return TooManyUnread(Unread());
  if (place->elements == 0) return OutOfRange("no element was read yet");
  return place->elements - 1;
}

uint64_t Reader::pass(uint64_t unread) const {
  return parts_->sequence->PassBefore(UnreadRows(unread));
}

std::optional<uint64_t> Reader::left() const {
  return parts_->even == nullptr ? parts_->sequence->LeftBefore(Unread())
                                 : parts_->even->Left(Unread());
}

std::optional<uint64_t> Reader::total() const {
  return parts_->even == nullptr ? parts_->sequence->size()
                                 : parts_->even->total();
}

// ---- iteration

absl::StatusOr<Chunk*> Reader::Fetch() {
  unreported_ = 0;
  if (const uint64_t unread = Unread(); unread > 0) {
    last_ = current_->rows - 1;
    if (OnProgress(unread)) {
      *current_ = current_->Slice(current_->rows - unread, current_->rows);
      last_ = current_->rows - 1;
      return current_;
    }
  }
  const auto fetch = [this] { return FetchChunk(*parts_); };
  absl::StatusOr<Chunk*> chunk =
      parts_->even == nullptr ? fetch() : parts_->even->Next(fetch);
  current_ = chunk.value_or(nullptr);
  last_ = current_ == nullptr ? 0 : current_->rows - 1;
  ended_ = chunk.ok() && current_ == nullptr;
  status_ = chunk.status();
  return chunk;
}

absl::StatusOr<std::optional<Chunk>> Reader::Next() {
  FM_ASSIGN_OR_RETURN(Chunk* const chunk, Fetch());
  if (chunk == nullptr) return std::nullopt;
  current_ = nullptr;
  return std::optional<Chunk>(std::move(*chunk));
}

bool Reader::Advance() { return Fetch().value_or(nullptr) != nullptr; }

const Chunk* Reader::NextChunk() {
  if (!Advance()) return nullptr;
  last_ = 0;
  if (stride_ > 0) stride_began_ = absl::Now();
  return current_;
}

bool Reader::OnProgress(uint64_t unread) {
  SharedHandOut* const shared = parts_->shared.get();
  if (shared == nullptr) return true;
  shared->Report(unread);
  if (unread == 0 || (shared->gave() && MayHandOut(*parts_))) return true;
  shared->Forget();
  return false;
}

bool Reader::ReportProgress(uint64_t unread) {
  const bool go_on = OnProgress(Unread() + unread);
  unreported_ = go_on ? unread : 0;
  reported_at_ = last_;
  if (!go_on && current_ != nullptr) last_ = current_->rows - 1;
  return go_on;
}

uint64_t Reader::NextStride(uint64_t row) {
  const absl::Time now = absl::Now();
  stride_ = now - stride_began_ < kStrideTime
                ? std::min(2 * stride_, kStrideMax)
                : std::max<uint64_t>(stride_ / 2, 1);
  stride_began_ = now;
  last_ = row;
  if (OnProgress(current_->rows - row)) return StrideEnd(row);
  last_ = current_->rows - 1;
  return 0;
}

}  // namespace feedmill

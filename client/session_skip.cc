// Parts of a run that the application never sees: parts it does not need,
// positions without elements, and elements that the dispatcher leaves out.
#include <algorithm>
#include <utility>

#include "client/read_session.h"

namespace feedmill {
namespace {

constexpr size_t kEmptiesMax = 4'096;  // between two calls of TakeEmpties
constexpr absl::Duration kSkipReportDelay = absl::Milliseconds(1);

}  // namespace

ReadEffects ReadSession::SkipTo(absl::Time now, Cursor to) {
  ReadEffects effects;
  if (shared() || leaving_ || to <= cursor_) return effects;
  cursor_ = to;
  if (state_ != State::kLive) return effects;  // sent with the next hello
  auto it = floor_ ? splits_.lower_bound(*floor_) : splits_.begin();
  for (; it != splits_.end() && it->second.begin < to; ++it) {
    SkipIn(now, it->second, to);
  }
  BeatWithin(now, absl::ZeroDuration());
  Advance();
  GrantAll(now, false, effects);
  EndIfDone(now, effects);
  return effects;
}

// Ignores errors before `to`; elements after such an error are requested again.
void ReadSession::SkipIn(absl::Time now, Split& split, Cursor to) {
  to = std::min(to, split.end);
  while (!split.buffer.empty()) {
    Buffered& first = split.buffer.front();
    const bool past = first.piece.end < to ||
                      (first.piece.end == to && first.piece.error.ok());
    if (!past) break;
    Drained(split, first.bytes);
    split.buffer.pop_front();
  }
  if (!split.buffer.empty() && split.buffer.front().piece.begin < to) {
    Piece& first = split.buffer.front().piece;
    first = first.From(to);
  }
  if (to <= split.next) return;
  split.next = to;
  split.stopped = false;
  if (split.taken()) {
    SetAllowed(split, split.received);
  } else {
    for (auto& [lease, stream] : split.streams) Reopen(now, split, stream);
  }
}

// Ends a run if every attempt at `split` failed.
std::optional<Piece> ReadSession::PullError(const Split& split) {
  if (split.error.ok() || split.taken()) return std::nullopt;
  Piece piece;
  piece.begin = piece.end = split.next;
  piece.error = split.error;
  Fail(piece.error);
  return piece;
}

// Records an element that the dispatcher left out, and the rest of its
// position, once all before it was taken.
void ReadSession::TakeSkip(absl::Time now, SplitId id, Split& split) {
  if (!split.skip || split.stopped || split.taken()) return;
  const Cursor at = split.skip->cursor;
  if (split.next < at || split.next.p != at.p) return;
  Piece piece;
  piece.begin = split.next;
  piece.end = std::min(split.end, Cursor{split.next.p + 1, 0});
  piece.skipped = split.skip;
  piece.skipped->cursor = split.next;
  Buffer(now, id, split, std::move(piece));
  BeatWithin(now, kSkipReportDelay);  // the split has no worker until then
}

void ReadSession::NoteEmpty(const Piece& piece) {
  if (!shared() || run_->positions != kInfinitePositions) return;
  const std::pair span(piece.begin.p, piece.end.p);
  if (!empties_.empty() && empties_.back().second == span.first) {
    empties_.back().second = span.second;
  } else if (empties_.size() < kEmptiesMax) {
    empties_.push_back(span);
  }
}

}  // namespace feedmill

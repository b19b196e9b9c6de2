#include "client/incoming_splits.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace feedmill {
namespace {

constexpr size_t kEmptiesMax = 4'096;  // between two calls of TakeEmpties
constexpr absl::Duration kSkipReportDelay = absl::Milliseconds(1);

// True if the piece only says that its positions have no elements.
bool IsEmpty(const Piece& piece) {
  return piece.chunk.rows == 0 && piece.error.ok() && !piece.skipped;
}

uint64_t BytesOf(const Piece& piece) {
  return piece.chunk.rows == 0 ? 0 : piece.chunk.ElementBytes();
}

// Returns the part of a piece below `end`. Workers never send more, but frames
// are untrusted.
Piece PartBelow(Piece piece, Cursor end) {
  if (piece.end <= end) return piece;
  const size_t rows =
      piece.begin < end
          ? RowsBelow(piece.cursors, piece.chunk.rows, piece.begin, end)
          : 0;
  piece.chunk = piece.chunk.Slice(0, rows);
  piece.error = absl::OkStatus();
  if (piece.skipped && end <= piece.skipped->cursor) piece.skipped.reset();
  piece.end = std::max(piece.begin, end);
  piece.state = StateFor(std::move(piece.state), piece.end);
  if (auto* form = std::get_if<BitmapRows>(&piece.cursors)) {
    const uint64_t bits = piece.end.p - piece.begin.p + (end.i > 0 ? 1 : 0);
    if (bits < form->bits.size() * 8) {
      form->bits.resize((bits + 7) / 8);
      if (bits % 8 != 0) {
        form->bits.back() &= static_cast<uint8_t>((1U << (bits % 8)) - 1);
      }
    }
  } else if (auto* runs = std::get_if<RunRows>(&piece.cursors)) {
    std::erase_if(runs->runs, [&](const CursorRun& run) {
      return !(Cursor{run.p, run.i} < end);
    });
    if (!runs->runs.empty() && runs->runs.back().p == end.p) {
      CursorRun& last = runs->runs.back();
      last.count = std::min(last.count, end.i - last.i);
    }
  }
  return piece;
}

}  // namespace

// ---- splits

void IncomingSplits::Bind(absl::Time now,
                          const std::vector<BoundSplit>& bound) {
  std::map<SplitId, const BoundSplit*> by_id;
  for (const BoundSplit& split : bound) by_id[split.split] = &split;
  for (auto it = splits_.begin(); it != splits_.end();) {
    const auto split = it++;
    if (!by_id.contains(split->first)) Erase(split);
  }
  for (const auto& [id, info] : by_id) {
    auto [found, fresh] = splits_.try_emplace(id);
    IncomingSplit& split = found->second;
    if (fresh) Add(*info, split);
    split.error = info->error;
    if (!split.error.ok() && !split.taken()) pullable_.insert(id);
    split.skip = info->skip;
    TakeSkip(now, split);
    TakeLeases(now, *info, split);
  }
}

void IncomingSplits::Add(const BoundSplit& bound, IncomingSplit& split) {
  split.id = bound.split;
  split.begin = bound.begin;
  split.end = std::max(bound.begin, bound.end);
  split.next = settings_.shared() ? split.begin
                                  : std::clamp(cursor_, split.begin, split.end);
  split.out = split.next;
  split.state = generator_;
  if (floor_ && split.id < *floor_) floor_ = split.id;
}

void IncomingSplits::TakeLeases(absl::Time now, const BoundSplit& bound,
                                IncomingSplit& split) {
  std::erase_if(split.streams, [&](const auto& entry) {
    return std::find(bound.leases.begin(), bound.leases.end(), entry.first) ==
           bound.leases.end();
  });
  for (const LeaseRef& lease : bound.leases) {
    auto [stream, fresh] = split.streams.try_emplace(lease);
    if (fresh) Open(now, split, stream->second);
  }
}

void IncomingSplits::Open(absl::Time now, const IncomingSplit& split,
                          IncomingStream& stream) {
  stream.opening = Opening{++last_opening_};
  stream.start = split.next;
  stream.state = StateFor(split.state, split.next);
  stream.base = split.received;
  stream.unused.reset();
  stream.last = now;
}

void IncomingSplits::Erase(Map::iterator split) {
  uint64_t buffered = 0;
  for (const ArrivedPiece& entry : split->second.buffer) {
    buffered += entry.bytes;
  }
  window_.Forget(buffered, split->second.credit());
  pullable_.erase(split->first);
  if (head_ == &split->second) head_ = nullptr;
  splits_.erase(split);
}

void IncomingSplits::Clear() {
  splits_.clear();
  pullable_.clear();
  floor_.reset();
  head_ = nullptr;
  window_.ForgetAll();
}

IncomingSplit* IncomingSplits::Find(const SplitId& id) {
  const auto found = splits_.find(id);
  return found == splits_.end() ? nullptr : &found->second;
}

IncomingSplits::Map::iterator IncomingSplits::begin() {
  return floor_ ? splits_.lower_bound(*floor_) : splits_.begin();
}

void IncomingSplits::Advance() {
  head_ = nullptr;
  for (auto it = begin(); it != end(); ++it) {
    IncomingSplit& split = it->second;
    floor_ = it->first;
    if (split.buffer.empty() && split.begin <= cursor_) {
      cursor_ = std::max(cursor_, split.next);
    }
    if (!split.idle()) {
      head_ = &split;
      return;
    }
  }
}

std::vector<SplitReport> IncomingSplits::Report() const {
  std::vector<SplitReport> reports;
  reports.reserve(splits_.size());
  for (const auto& [id, split] : splits_) {
    reports.push_back({id, split.next, OutOf(split)});
  }
  return reports;
}

// Returns the cursor below which nothing has to be sent again while this
// process lives (rule 16).
Cursor IncomingSplits::OutOf(const IncomingSplit& split) const {
  if (!settings_.shared()) return std::clamp(cursor_, split.begin, split.end);
  return split.buffer.empty() && split.staged == 0 ? split.next : split.out;
}

// ---- arriving pieces

IncomingSplit* IncomingSplits::Receive(absl::Time now, Frame frame) {
  IncomingSplit* const split = Find(frame.split);
  if (split == nullptr || frame.piece.end < frame.piece.begin) return nullptr;
  const auto stream = split->streams.find(
      {frame.worker, frame.worker_incarnation, frame.attempt});
  const auto is_open = [&] {
    return stream != split->streams.end() &&
           stream->second.opening == frame.opening;
  };
  if (is_open()) {
    stream->second.last = now;
    stream->second.state.reset();  // the worker has it
    // A frame before this one was lost.
    if (split->next < frame.piece.begin) Open(now, *split, stream->second);
  }
  if (split->stopped) return nullptr;
  const uint64_t received = split->received;
  window_.ReceiveFrame(now, frame.worker, frame.wire_bytes,
                       BytesOf(frame.piece));
  std::optional<Piece> piece = rules_.NewPart(
      split->next, PartBelow(std::move(frame.piece), split->end));
  if (piece) Buffer(now, *split, *std::move(piece));
  if (is_open()) NoteUse(now, received, *split, stream->second);
  TakeSkip(now, *split);
  Advance();
  return split;
}

void IncomingSplits::Buffer(absl::Time now, IncomingSplit& split, Piece piece) {
  const uint64_t bytes = BytesOf(piece);
  window_.Receive(now, piece.end.p - piece.begin.p, bytes);
  split.received += bytes;
  split.next = std::max(split.next, piece.end);
  if (piece.state != nullptr) split.state = piece.state;
  split.stopped = !piece.error.ok();
  // All credit of the split is used or given back.
  if (split.taken() || split.stopped || split.allowed < split.received) {
    split.SetAllowed(split.received, window_);
  }
  if (split.taken()) NoteTaken(now);
  if (IsEmpty(piece)) {
    // The end of a sequenced run says how many elements there are.
    const bool ends = run_.info()->sequenced && piece.begin.p < piece.end.p;
    if ((piece.state == nullptr && !ends) || settings_.shared()) {
      return NoteEmpty(piece);
    }
    // Its state is needed. One such piece is buffered in a row.
    piece.cursors = RunRows{};
    if (!ends && !split.buffer.empty() && IsEmpty(split.buffer.back().piece)) {
      Piece& last = split.buffer.back().piece;
      last.end = piece.end;
      last.state = std::move(piece.state);
      return;
    }
  }
  window_.Buffer(bytes);
  split.buffer.push_back({std::move(piece), bytes, now});
  if (settings_.shared()) pullable_.insert(split.id);
}

void IncomingSplits::NoteTaken(absl::Time now) {
  clock_.NoteTaken(now,
                   static_cast<size_t>(std::count_if(
                       splits_.begin(), splits_.end(), [](const auto& entry) {
                         return !entry.second.taken() && !entry.second.stopped;
                       })));
}

// Measures the round trip: the least time from additional credit to its first
// use. The first use is a frame before which all earlier credit was received.
// (A frame that only ends beyond the earlier credit may be a head's, which may
// overdraw. Frames of other attempts are ignored.)
void IncomingSplits::NoteUse(absl::Time now, uint64_t received,
                             const IncomingSplit& split,
                             IncomingStream& stream) {
  if (!stream.unused || split.streams.size() > 1 ||
      split.received == received ||
      received < stream.base + stream.unused->beyond) {
    return;
  }
  window_.NoteRoundTrip(now - stream.unused->since);
  stream.unused.reset();
}

// Records an element that the dispatcher left out, and the rest of its
// position, once all before it was taken.
void IncomingSplits::TakeSkip(absl::Time now, IncomingSplit& split) {
  if (!split.skip || split.stopped || split.taken()) return;
  const Cursor at = split.skip->cursor;
  if (split.next < at || split.next.p != at.p) return;
  Piece piece;
  piece.begin = split.next;
  piece.end = std::min(split.end, Cursor{split.next.p + 1, 0});
  piece.skipped = split.skip;
  piece.skipped->cursor = split.next;
  Buffer(now, split, std::move(piece));
  // The split has no worker until then.
  clock_.BeatWithin(now, kSkipReportDelay);
}

void IncomingSplits::NoteEmpty(const Piece& piece) {
  if (!settings_.shared() || run_.info()->positions != kInfinitePositions) {
    return;
  }
  const std::pair span(piece.begin.p, piece.end.p);
  if (!empties_.empty() && empties_.back().second == span.first) {
    empties_.back().second = span.second;
  } else if (empties_.size() < kEmptiesMax) {
    empties_.push_back(span);
  }
}

void IncomingSplits::NoteArriving(absl::Time now, const WorkerId& worker) {
  for (auto& [id, split] : splits_) {
    for (auto& [lease, stream] : split.streams) {
      if (lease.worker == worker) stream.last = std::max(stream.last, now);
    }
  }
}

// ---- leaving pieces

IncomingSplit* IncomingSplits::NextToPull() {
  if (!settings_.shared()) return head_;
  while (!pullable_.empty()) {
    IncomingSplit* const split = Find(*pullable_.begin());
    const bool has =
        split != nullptr &&
        (!split->buffer.empty() || (!split->error.ok() && !split->taken()));
    if (has) return split;
    pullable_.erase(pullable_.begin());
  }
  return nullptr;
}

ArrivedPiece IncomingSplits::Pull(IncomingSplit& split) {
  ArrivedPiece first = std::move(split.buffer.front());
  split.buffer.pop_front();
  split.Drain(first.bytes, window_);
  cursor_ = first.piece.end;
  if (first.piece.state != nullptr) generator_ = first.piece.state;
  return first;
}

void IncomingSplits::DropSkipped(absl::Time now) {
  const Cursor to = cursor_;
  for (auto it = begin(); it != end() && it->second.begin < to; ++it) {
    SkipIn(now, it->second, to);
  }
  Advance();
}

// Ignores errors before `to`; elements after such an error are requested again.
void IncomingSplits::SkipIn(absl::Time now, IncomingSplit& split, Cursor to) {
  to = std::min(to, split.end);
  while (!split.buffer.empty()) {
    ArrivedPiece& first = split.buffer.front();
    const bool past = first.piece.end < to ||
                      (first.piece.end == to && first.piece.error.ok());
    if (!past) break;
    split.Drain(first.bytes, window_);
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
    split.SetAllowed(split.received, window_);
  } else {
    for (auto& [lease, stream] : split.streams) Open(now, split, stream);
  }
}

}  // namespace feedmill

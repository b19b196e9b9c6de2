#include "worker/outgoing_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace feedmill {

void OutgoingStream::Open(const PeerId& to, Opening opening, Cursor start,
                          Cursor lease_end) {
  MoveTo(start);
  to_ = to;
  opening_ = opening;
  sent_ = total_ = 0;
  // A data error that was sent may be lost: it is found again.
  if (segments_.empty()) stop_ = lease_end;
}

void OutgoingStream::MoveTo(Cursor start) {
  if (start < next_) {  // sent and lost
    if (segments_.empty()) {
      frontier_ = start;
    } else if (const Cursor first = segments_.begin()->first; start < first) {
      segments_.emplace(start, Segment{.end = first});
    }
  }
  next_ = start;
  auto it = segments_.begin();
  while (it != segments_.end() && it->first < start) {
    Segment& segment = it->second;
    const bool past = segment.end <= start;
    if (!past && segment.task != TaskId()) break;  // cut when the task ends
    Segment whole = std::move(segment);
    it = segments_.erase(it);
    if (past) continue;
    const auto rest = segments_.emplace(start, Segment{.end = whole.end}).first;
    if (whole.made != nullptr) Store(rest, std::move(whole.made));
    break;
  }
  if (segments_.empty()) frontier_ = start;
}

// ---- credit

bool OutgoingStream::WaitsForCredit() const {
  if (segments_.empty()) return false;
  const Segment& first = segments_.begin()->second;
  return first.made != nullptr && first.bytes() > 0 &&
         sent_ + first.bytes() > total_ && !(terms.head && sent_ < total_);
}

BufferedPiecePtr OutgoingStream::TakeNext() {
  if (!NextIsReady() || WaitsForCredit()) return nullptr;
  Segment& first = segments_.begin()->second;
  sent_ += first.bytes();
  next_ = first.end;
  BufferedPiecePtr made = std::move(first.made);
  segments_.erase(segments_.begin());
  return made;
}

// ---- segments

bool OutgoingStream::Wants() const {
  return frontier_ < stop_ ||
         std::any_of(segments_.begin(), segments_.end(),
                     [](const auto& entry) { return entry.second.wanted(); });
}

bool OutgoingStream::WantsNext() const {
  return !segments_.empty() && segments_.begin()->second.wanted();
}

bool OutgoingStream::NextIsReady() const {
  return !segments_.empty() && segments_.begin()->second.made != nullptr;
}

bool OutgoingStream::Complete() const {
  return frontier_ == stop_ &&
         std::all_of(segments_.begin(), segments_.end(), [](const auto& entry) {
           return entry.second.made != nullptr;
         });
}

bool OutgoingStream::Starved() const {
  return terms.head && sent_ < total_ && !NextIsReady() && RunningTasks() == 0;
}

size_t OutgoingStream::RunningTasks() const {
  size_t running = 0;
  for (const auto& [begin, segment] : segments_) {
    running += segment.task != TaskId() ? 1 : 0;
  }
  return running;
}

uint64_t OutgoingStream::BytesWithTasks(uint64_t task_bytes) const {
  uint64_t bytes = sent_;
  for (const auto& [begin, segment] : segments_) {
    bytes += segment.task != TaskId() ? task_bytes : segment.bytes();
  }
  return bytes;
}

OutgoingStream::Gap OutgoingStream::FirstGap() const {
  const auto hole =
      std::find_if(segments_.begin(), segments_.end(),
                   [](const auto& entry) { return entry.second.wanted(); });
  if (hole == segments_.end()) return {frontier_, stop_, true};
  return {hole->first, hole->second.end, false};
}

void OutgoingStream::Fill(const Gap& gap, Cursor end, TaskId task,
                          BufferedPiecePtr made) {
  if (gap.at_frontier) {
    frontier_ = end;
  } else if (end < gap.limit) {
    segments_.emplace(end, Segment{.end = gap.limit});
  }
  const auto segment =
      segments_.insert_or_assign(gap.begin, Segment{.end = end, .task = task})
          .first;
  if (made != nullptr) Store(segment, std::move(made));
}

bool OutgoingStream::Awaits(TaskId task) const {
  return std::any_of(
      segments_.begin(), segments_.end(),
      [&](const auto& entry) { return entry.second.task == task; });
}

bool OutgoingStream::Store(TaskId task, BufferedPiecePtr made) {
  const auto segment = std::find_if(
      segments_.begin(), segments_.end(),
      [&](const auto& entry) { return entry.second.task == task; });
  if (made->piece.begin < segment->first && made->piece.end <= segment->first) {
    segment->second.task = TaskId();
    return false;
  }
  Store(segment, std::move(made));
  return true;
}

// Stores a piece in its segment. The rest of the segment beyond the piece
// becomes wanted again; beyond a data error nothing is wanted.
void OutgoingStream::Store(Segments::iterator segment, BufferedPiecePtr made) {
  if (made->piece.begin < segment->first) {
    made = std::make_shared<BufferedPiece>(std::move(made), segment->first);
  }
  const Piece& piece = made->piece;
  const Cursor end = segment->second.end;
  segments_.erase(segment);
  if (!piece.error.ok()) {
    DropFrom(piece.end);
    frontier_ = stop_ = piece.end;
  } else if (piece.end < end) {
    if (end == frontier_) {
      frontier_ = piece.end;
    } else {
      segments_.emplace(piece.end, Segment{.end = end});
    }
  }
  if (piece.begin < next_) {  // the stream moved on meanwhile
    if (piece.end < next_ || (piece.end == next_ && piece.error.ok())) {
      // The piece has nothing new; the wanted segment starts at the new
      // position.
      if (segments_.empty()) {
        frontier_ = next_;
        return;
      }
      auto first = segments_.begin();
      if (first->first < next_) {
        const Cursor wanted_end = first->second.end;
        segments_.erase(first);
        segments_.emplace(next_, Segment{.end = wanted_end});
      }
      return;
    }
    made = std::make_shared<BufferedPiece>(std::move(made), next_);
  }
  const Cursor begin = made->piece.begin;
  const Cursor made_end = made->piece.end;
  segments_.insert_or_assign(begin,
                             Segment{.end = made_end, .made = std::move(made)});
}

// Removes all segments that begin at or after `cursor`. Their tasks run on.
void OutgoingStream::DropFrom(Cursor cursor) {
  segments_.erase(segments_.lower_bound(cursor), segments_.end());
}

void OutgoingStream::GiveUp(Cursor lease_end,
                            const std::function<bool()>& enough) {
  for (auto it = segments_.rbegin(); it != segments_.rend() && !enough();
       ++it) {
    Segment& segment = it->second;
    if (segment.made == nullptr) continue;
    if (!segment.made->piece.error.ok()) stop_ = lease_end;
    segment.made.reset();
  }
  while (!segments_.empty()) {
    const auto last = std::prev(segments_.end());
    if (!last->second.wanted()) break;
    frontier_ = last->first;
    segments_.erase(last);
  }
}

}  // namespace feedmill

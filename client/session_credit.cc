// Credit: the limits up to which a ReadSession lets workers send.
#include <algorithm>
#include <utility>

#include "client/read_session.h"

namespace feedmill {

bool ReadSession::Reserve(uint64_t& allowed, uint64_t received,
                          bool empty) const {
  if (empty && allowed <= received) allowed = received + 1;
  return true;
}

// Measures the round trip: the least time from additional credit to its first
// use. The first use is a frame before which all earlier credit was received.
// (A frame that only ends beyond the earlier credit may be a head's, which may
// overdraw. Frames of other attempts are ignored.)
void ReadSession::NoteUse(absl::Time now, uint64_t received, const Split& split,
                          IncomingStream& stream) {
  if (!stream.asked || split.streams.size() > 1 || split.received == received ||
      received < stream.base + stream.asked->beyond) {
    return;
  }
  window_.NoteRoundTrip(now - stream.asked->when);
  stream.asked.reset();
}

// Returns the credit of bytes that left the buffer.
void ReadSession::Drained(Split& split, uint64_t bytes) {
  split.drained += bytes;
  window_.Drain(bytes);
}

void ReadSession::SetAllowed(Split& split, uint64_t allowed) {
  window_.ChangeCredit(split.allowed, allowed);
  split.allowed = allowed;
}

void ReadSession::Reopen(absl::Time now, const Split& split,
                         IncomingStream& stream) {
  stream.opening = Opening{++last_opening_};
  stream.start = split.next;
  stream.state = StateFor(split.state, split.next);
  stream.base = split.received;
  stream.asked.reset();
  stream.last = now;
}

void ReadSession::NoteArriving(absl::Time now, const WorkerId& worker) {
  for (auto& [id, split] : splits_) {
    for (auto& [lease, stream] : split.streams) {
      if (lease.worker == worker) stream.last = std::max(stream.last, now);
    }
  }
}

// Gives credit to a split: at most half of the window ahead of one split, and
// the window over all splits. Half of the window exceeds one of the largest
// frames if the budget allows it: a worker holds back a frame that does not
// fit, unless it is a head's.
void ReadSession::Allot(Split& split, bool is_head) {
  const uint64_t wanted =
      split.received + window_.MayNeed(split.end.p - split.next.p);
  if (wanted <= split.allowed) return;
  std::optional<uint64_t> head_has;
  if (!is_head && head_) head_has = splits_.at(*head_).credit();
  const uint64_t free = window_.Free(is_head, split.credit(), head_has);
  SetAllowed(split, split.allowed + std::min(free, wanted - split.allowed));
}

// True if a grant gives enough new credit to be sent: a quarter of the quota,
// or less if the worker is about to stop.
bool ReadSession::Worthwhile(const Split& split, const IncomingStream& stream,
                             uint64_t total, bool head) const {
  if (!stream.said || stream.said->opening != stream.opening ||
      stream.said->head != head) {
    return true;
  }
  const uint64_t said = stream.said->total_bytes;
  if (total <= said) return false;
  const uint64_t used = split.received - stream.base;
  const uint64_t left = said > used ? said - used : 0;
  return total - said >= window_.quarter_bytes() ||
         left < window_.quarter_bytes();
}

// `repeat`: send the grant even if nothing is new, and reopen streams that may
// have been lost without a sign (rule 12).
void ReadSession::GrantSplit(absl::Time now, SplitId id, bool repeat,
                             ReadEffects& effects) {
  auto found = splits_.find(id);
  if (found == splits_.end()) return;
  Split& split = found->second;
  if (split.taken() || split.stopped) return;
  const bool is_head = head_ == id;
  Allot(split, is_head);
  bool say_head = false;
  if (is_head) {
    uint64_t allowed = split.allowed;
    say_head = Reserve(allowed, split.received, split.buffer.empty());
    SetAllowed(split, allowed);
  }
  for (auto& [lease, stream] : split.streams) {
    if (repeat && split.allowed > split.received &&
        now - stream.last > settings_.reopen_after) {
      Reopen(now, split, stream);
    }
    const uint64_t total = split.allowed - stream.base;
    if (!repeat && !Worthwhile(split, stream, total, say_head)) continue;
    Grant grant{.session = session_,
                .split = id,
                .worker_incarnation = lease.incarnation,
                .attempt = lease.attempt,
                .opening = stream.opening,
                .start = stream.start,
                .total_bytes = total,
                .head = say_head,
                .weight = settings_.weight,
                .arriving = window_.Arriving(lease.worker),
                .state = stream.state};
    const uint64_t before = stream.said && stream.said->opening == grant.opening
                                ? stream.said->total_bytes
                                : 0;
    if (!stream.asked && total > before)
      stream.asked = IncomingStream::Asked{now, before};
    stream.said = grant;
    effects.sends.push_back({PeerId{lease.worker.value()}, std::move(grant)});
  }
}

// In order of binding: the splits read first get credit first.
void ReadSession::GrantAll(absl::Time now, bool repeat, ReadEffects& effects) {
  window_.CreditReturned();
  auto it = floor_ ? splits_.lower_bound(*floor_) : splits_.begin();
  for (; it != splits_.end(); ++it) {
    GrantSplit(now, it->first, repeat, effects);
  }
}

}  // namespace feedmill

#include "client/split_grants.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace feedmill {

void SplitGrants::Send(absl::Time now, IncomingSplit& split, bool repeat,
                       std::vector<Outgoing>& sends) {
  if (split.taken() || split.stopped) return;
  const bool is_head = splits_.head() == &split;
  Allot(split, is_head);
  bool names_head = false;
  if (is_head) {
    uint64_t allowed = split.allowed;
    names_head = rules_.Reserve(allowed, split.received, split.buffer.empty());
    split.SetAllowed(allowed, window_);
  }
  for (auto& [lease, stream] : split.streams) {
    if (repeat && split.allowed > split.received &&
        now - stream.last > settings_.reopen_after) {
      splits_.Open(now, split, stream);
    }
    const uint64_t total = split.allowed - stream.base;
    if (!repeat && !IsWorthwhile(split, stream, total, names_head)) continue;
    Grant grant{.session = session_,
                .split = split.id,
                .worker_incarnation = lease.incarnation,
                .attempt = lease.attempt,
                .opening = stream.opening,
                .start = stream.start,
                .total_bytes = total,
                .head = names_head,
                .weight = settings_.weight,
                .arriving = window_.Arriving(lease.worker),
                .state = stream.state};
    const uint64_t before =
        stream.granted && stream.granted->opening == grant.opening
            ? stream.granted->total_bytes
            : 0;
    if (!stream.unused && total > before) {
      stream.unused = IncomingStream::UnusedCredit{now, before};
    }
    stream.granted = grant;
    sends.push_back({PeerId{lease.worker.value()}, std::move(grant)});
  }
}

void SplitGrants::SendHead(absl::Time now, std::vector<Outgoing>& sends) {
  if (splits_.head() != nullptr) Send(now, *splits_.head(), sends);
}

void SplitGrants::SendAll(absl::Time now, bool repeat,
                          std::vector<Outgoing>& sends) {
  window_.CreditReturned();
  for (auto& [id, split] : splits_) Send(now, split, repeat, sends);
}

// Gives credit to a split: at most half of the window ahead of one split, and
// the window over all splits. Half of the window exceeds one of the largest
// frames if the budget allows it: a worker holds back a frame that does not
// fit, unless it is a head's.
void SplitGrants::Allot(IncomingSplit& split, bool is_head) {
  const uint64_t wanted =
      split.received + window_.MayNeed(split.end.p - split.next.p);
  if (wanted <= split.allowed) return;
  std::optional<uint64_t> head_has;
  if (!is_head && splits_.head() != nullptr) {
    head_has = splits_.head()->credit();
  }
  const uint64_t free = window_.Free(is_head, split.credit(), head_has);
  split.SetAllowed(split.allowed + std::min(free, wanted - split.allowed),
                   window_);
}

// True if a grant gives enough new credit to be sent: a quarter of the quota,
// or less if the worker is about to stop.
bool SplitGrants::IsWorthwhile(const IncomingSplit& split,
                               const IncomingStream& stream, uint64_t total,
                               bool head) const {
  if (!stream.granted || stream.granted->opening != stream.opening ||
      stream.granted->head != head) {
    return true;
  }
  const uint64_t granted = stream.granted->total_bytes;
  if (total <= granted) return false;
  const uint64_t used = split.received - stream.base;
  const uint64_t left = granted > used ? granted - used : 0;
  return total - granted >= window_.quarter_bytes() ||
         left < window_.quarter_bytes();
}

}  // namespace feedmill

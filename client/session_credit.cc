// How far a ReadSession lets workers send.
#include <algorithm>
#include <utility>

#include "client/read_session.h"

namespace feedmill {
namespace {

// What may be on its way and in buffers, in multiples of what comes in one
// round trip.
constexpr double kRoundTrips = 4;
// With more than so many on its way, it is not the window that is waited for.
constexpr double kWideRoundTrips = 2;
constexpr absl::Duration kMeasureMax = absl::Seconds(1);
// Of what a split may need: positions differ.
constexpr double kSplitMargin = 1.5;
// The recent past counts.
constexpr uint64_t kCamePositions = uint64_t{1} << 16;
// A shorter round trip is mostly waits for a core, which credit does not
// shorten. There a wider window is kept if that much more comes than before,
// measured for so long at least; else it is not tried again for a while.
constexpr absl::Duration kNear = absl::Milliseconds(5);
constexpr double kWorthIt = 1.25;
constexpr absl::Duration kMeasureLeast = absl::Milliseconds(20);
constexpr absl::Duration kTryAgain = absl::Seconds(1);

}  // namespace

bool ReadSession::Reserve(uint64_t& allowed, uint64_t received,
                          bool empty) const {
  if (empty && allowed <= received) allowed = received + 1;
  return true;
}

// Never below what two splits need to follow each other without a pause: half
// of it each.
void ReadSession::SetWindow(uint64_t bytes) {
  window_bytes_ =
      std::clamp(bytes, std::min(2 * quota_bytes_, settings_.budget_bytes),
                 settings_.budget_bytes);
  ahead_bytes_ = std::max(window_bytes_ / 2, quota_bytes_);
  window_received_ = window_pulled_ = 0;
  narrower_.reset();
  window_unused_ = buffered_bytes_;
  measured_from_ = absl::InfinitePast();
}

// The application found nothing. More credit helps where no more than a few
// windows come in a round trip; elsewhere it only makes elements lie in queues
// until they have left the caches. (What a slow worker has made waits there.)
void ReadSession::WidenWindow(absl::Time now) {
  window_unused_ = 0;
  arrivals_.Wait(now);
  if (window_received_ < window_bytes_ || now < widen_from_) return;
  const absl::Duration took = now - measured_from_;
  const bool near = round_trip_ < kNear;
  if (took < (near ? kMeasureLeast : round_trip_)) return;
  const double rate =
      static_cast<double>(window_received_) / absl::ToDoubleSeconds(took);
  if (WiderIsNoFaster(now, rate)) return;
  if (kRoundTrips * rate * absl::ToDoubleSeconds(round_trip_) >=
      static_cast<double>(window_bytes_)) {
    const Narrower before{window_bytes_, rate};
    SetWindow(2 * window_bytes_);
    if (near && window_bytes_ > before.bytes) narrower_ = before;
  } else if (took > kMeasureMax) {
    window_received_ = 0;
    measured_from_ = now;
  }
}

// What comes from a worker in a second, where that is not a matter of credit.
uint64_t ReadSession::Arriving(const WorkerId& worker) const {
  const double in_round_trip =
      arrivals_.elements() * absl::ToDoubleSeconds(round_trip_);
  const bool wide =
      window_bytes_ >= settings_.budget_bytes ||
      kWideRoundTrips * in_round_trip <= static_cast<double>(window_bytes_);
  return wide ? static_cast<uint64_t>(arrivals_.From(worker)) : 0;
}

// Then it is narrow again: the round trip was longer when it was measured, or
// what is waited for is a core.
bool ReadSession::WiderIsNoFaster(absl::Time now, double rate) {
  if (!narrower_.has_value()) return false;
  const Narrower before = *narrower_;
  narrower_.reset();
  if (rate >= kWorthIt * before.rate) return false;
  SetWindow(before.bytes);
  widen_from_ = now + kTryAgain;
  return true;
}

// The least time from more credit to its first use: to a frame before which
// `received` bytes had come, all that was allowed before. (One that only ends
// beyond that may be a head's, which overdraws, and what another attempt sends
// says nothing of this one.)
void ReadSession::NoteUse(absl::Time now, uint64_t received, const Split& split,
                          Stream& stream) {
  if (!stream.asked || split.streams.size() > 1 || split.received == received ||
      received < stream.base + stream.asked->beyond) {
    return;
  }
  round_trip_ = std::min(round_trip_, now - stream.asked->when);
  stream.asked.reset();
}

// Half of the window was never needed while all of it went by: elements only
// grew cold in the buffer.
void ReadSession::NarrowWindow() {
  window_unused_ = std::min(window_unused_, buffered_bytes_);
  if (window_pulled_ < window_bytes_) return;
  if (window_unused_ >= window_bytes_ / 2) {
    SetWindow(window_bytes_ / 2);
  } else {
    window_pulled_ = 0;
    window_unused_ = buffered_bytes_;
  }
}

// Bytes left the buffer: their credit returns.
void ReadSession::Drained(Split& split, uint64_t bytes) {
  split.drained += bytes;
  buffered_bytes_ -= bytes;
  outstanding_bytes_ -= bytes;
  freed_bytes_ += bytes;
  window_pulled_ += bytes;
  NarrowWindow();
}

void ReadSession::SetAllowed(Split& split, uint64_t allowed) {
  outstanding_bytes_ = outstanding_bytes_ - split.allowed + allowed;
  split.allowed = allowed;
}

void ReadSession::Reopen(absl::Time now, const Split& split, Stream& stream) {
  stream.opening = Opening{++last_opening_};
  stream.start = split.next;
  stream.base = split.received;
  stream.asked.reset();
  stream.last = now;
}

// What a split may need beyond what it has received, by what came of the
// positions so far: more credit for it would only keep others from having some.
uint64_t ReadSession::MayNeed(const Split& split) const {
  if (positions_came_ == 0) return ahead_bytes_;
  const double positions =
      static_cast<double>(std::max<uint64_t>(1, split.end.p - split.next.p));
  const double bytes = kSplitMargin * positions *
                       static_cast<double>(bytes_came_) /
                       static_cast<double>(positions_came_);
  // A frame of the size of the others always fits.
  return std::max(quota_bytes_ / kQuotaFrames,
                  bytes < static_cast<double>(ahead_bytes_)
                      ? static_cast<uint64_t>(bytes)
                      : ahead_bytes_);
}

void ReadSession::NoteCame(uint64_t positions, uint64_t bytes) {
  positions_came_ += positions;
  bytes_came_ += bytes;
  if (positions_came_ < kCamePositions) return;
  positions_came_ /= 2;
  bytes_came_ /= 2;
}

// Credit ahead of one split is at most half of the window, of all splits
// together the window. (A worker holds a frame back that does not fit, if it is
// no head's: so that is more than one of the largest frames, where the budget
// is enough for that.) A part of the window is only the head's, so that those
// behind it never leave it with one frame a round trip.
void ReadSession::Allot(Split& split, bool is_head) {
  uint64_t taken = outstanding_bytes_;
  if (!is_head && head_) {
    const Split& head = splits_.at(*head_);
    const uint64_t has = head.allowed - head.drained;
    if (has < reserve_bytes_) taken += reserve_bytes_ - has;
  }
  uint64_t free = window_bytes_ - std::min(window_bytes_, taken);
  if (is_head) {  // also where those behind it fill a window that got narrower
    const uint64_t has = split.allowed - split.drained;
    const uint64_t left =
        settings_.budget_bytes - std::min(settings_.budget_bytes, taken);
    free = std::max(
        free, std::min(left, reserve_bytes_ - std::min(reserve_bytes_, has)));
  }
  const uint64_t wanted = split.received + MayNeed(split);
  if (wanted <= split.allowed) return;
  SetAllowed(split, split.allowed + std::min(free, wanted - split.allowed));
}

// Whether a grant says enough that is new: credit returns in quarters of the
// quota, or in less where the worker is about to stop.
bool ReadSession::Worthwhile(const Split& split, const Stream& stream,
                             uint64_t total, bool head) const {
  if (!stream.said || stream.said->opening != stream.opening ||
      stream.said->head != head) {
    return true;
  }
  const uint64_t said = stream.said->total_bytes;
  if (total <= said) return false;
  const uint64_t used = split.received - stream.base;
  const uint64_t left = said > used ? said - used : 0;
  return total - said >= quarter_bytes() || left < quarter_bytes();
}

// `repeat`: say it again even if it is not new, and open again what may have
// been lost without a sign (rule 12).
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
                .arriving = Arriving(lease.worker)};
    const uint64_t before = stream.said && stream.said->opening == grant.opening
                                ? stream.said->total_bytes
                                : 0;
    if (!stream.asked && total > before)
      stream.asked = Stream::Asked{now, before};
    stream.said = grant;
    effects.sends.push_back({PeerId{lease.worker.value()}, std::move(grant)});
  }
}

// In order of binding: what is read first gets credit first.
void ReadSession::GrantAll(absl::Time now, bool repeat, ReadEffects& effects) {
  freed_bytes_ = 0;
  auto it = floor_ ? splits_.lower_bound(*floor_) : splits_.begin();
  for (; it != splits_.end(); ++it) {
    GrantSplit(now, it->first, repeat, effects);
  }
}

}  // namespace feedmill

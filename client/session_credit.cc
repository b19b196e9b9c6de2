// Credit: the limits up to which a ReadSession lets workers send.
#include <algorithm>
#include <utility>

#include "client/read_session.h"

namespace feedmill {
namespace {

// Window size in multiples of the bytes that arrive in one round trip.
constexpr double kRoundTrips = 4;
// With more round trips than this on their way, the window is not the
// bottleneck.
constexpr double kWideRoundTrips = 2;
constexpr absl::Duration kMeasureMax = absl::Seconds(1);
// Safety factor for a split's need, because positions differ.
constexpr double kSplitMargin = 1.5;
// Limits the measured past.
constexpr uint64_t kCamePositions = uint64_t{1} << 16;
// A round trip shorter than kNear is mostly waiting for a core, which credit
// does not shorten. There a wider window is kept only if the rate rises by
// kWorthIt, measured for at least kMeasureLeast; otherwise it is tried again
// after kTryAgain.
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

// The minimum is two quotas, so that two splits can follow each other without a
// pause.
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

// Called when the application found no element. More credit helps only if few
// windows arrive per round trip. Otherwise elements would just wait in queues
// until they have left the caches. (Results of a slow worker wait at the
// worker.)
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

// Returns the bytes per second from a worker, if credit does not limit them;
// else 0.
uint64_t ReadSession::Arriving(const WorkerId& worker) const {
  const double in_round_trip =
      arrivals_.elements() * absl::ToDoubleSeconds(round_trip_);
  const bool wide =
      window_bytes_ >= settings_.budget_bytes ||
      kWideRoundTrips * in_round_trip <= static_cast<double>(window_bytes_);
  return wide ? static_cast<uint64_t>(arrivals_.From(worker)) : 0;
}

// Narrows the window again if widening did not raise the rate: the measured
// round trip was too long, or a core is the bottleneck.
bool ReadSession::WiderIsNoFaster(absl::Time now, double rate) {
  if (!narrower_.has_value()) return false;
  const Narrower before = *narrower_;
  narrower_.reset();
  if (rate >= kWorthIt * before.rate) return false;
  SetWindow(before.bytes);
  widen_from_ = now + kTryAgain;
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
  round_trip_ = std::min(round_trip_, now - stream.asked->when);
  stream.asked.reset();
}

// Halves the window if half of it was never needed while a whole window passed:
// elements only left the caches in the buffer.
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

// Returns the credit of bytes that left the buffer.
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

void ReadSession::Reopen(absl::Time now, const Split& split,
                         IncomingStream& stream) {
  stream.opening = Opening{++last_opening_};
  stream.start = split.next;
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

// Estimates the bytes a split may need beyond those received, from past
// positions. More credit for it would only withhold credit from others.
uint64_t ReadSession::MayNeed(const Split& split) const {
  if (positions_came_ == 0) return ahead_bytes_;
  const double positions =
      static_cast<double>(std::max<uint64_t>(1, split.end.p - split.next.p));
  const double bytes = kSplitMargin * positions *
                       static_cast<double>(bytes_came_) /
                       static_cast<double>(positions_came_);
  // One frame of usual size always fits.
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

// Gives credit to a split: at most half of the window ahead of one split, and
// the window over all splits. Half of the window exceeds one of the largest
// frames if the budget allows it: a worker holds back a frame that does not
// fit, unless it is a head's.
//
// A part of the window is reserved for the head. Otherwise splits behind it
// could leave it with one frame per round trip.
void ReadSession::Allot(Split& split, bool is_head) {
  uint64_t taken = outstanding_bytes_;
  if (!is_head && head_) {
    const Split& head = splits_.at(*head_);
    const uint64_t has = head.allowed - head.drained;
    if (has < reserve_bytes_) taken += reserve_bytes_ - has;
  }
  uint64_t free = window_bytes_ - std::min(window_bytes_, taken);
  if (is_head) {  // also when the window was narrowed below what others use
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
  return total - said >= quarter_bytes() || left < quarter_bytes();
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
                .arriving = Arriving(lease.worker)};
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
  freed_bytes_ = 0;
  auto it = floor_ ? splits_.lower_bound(*floor_) : splits_.begin();
  for (; it != splits_.end(); ++it) {
    GrantSplit(now, it->first, repeat, effects);
  }
}

}  // namespace feedmill

#include "broker/lease_scheduler.h"

#include <algorithm>
#include <cstdint>

namespace feedmill {
namespace {

constexpr uint64_t kShareMax = 4'096;  // splits of one consumer

}  // namespace

void LeaseScheduler::Fill(absl::Time now) {
  if (now < lease_from_) return;
  const uint64_t consumers = std::max<uint64_t>(1, readers_.size());
  const uint64_t share =
      std::min(kShareMax, leases_.reach() * leases_.slots() / consumers);
  leases_.Fill(now, static_cast<uint32_t>(share));
}

void LeaseScheduler::RetryHeads(absl::Time now) {
  for (const auto& [key, reader] : readers_.readers()) {
    if (now - reader.heard <= clock_.ParkAfter()) RetryHead(now, key);
  }
}

void LeaseScheduler::RetryHead(absl::Time now, const SessionKey& key) {
  const SessionState& session = *state_->FindSession(key);
  if (session.waiting.empty()) return;
  const SplitId head = *session.waiting.begin();
  const LeaseTable::Work* work = leases_.Find(head);
  if (work == nullptr) return;
  // A consumer with buffered elements is itself the slow part. For a sharer
  // this is unknown, because it reports only elements that it handed out.
  if (state_->FindJob(key.job)->order == Order::kDeterministic) {
    const SplitState& split = *state_->FindSplit(head);
    if (*session.splits.begin() != head || split.out < split.taken) {
      leases_.NoteProgress(head, now);
      return;
    }
  }
  const absl::Duration stood = now - work->progress;
  // After `patience` a busy worker must take the head, too, because a broken
  // path shows in no other way. Patience doubles with each slow attempt:
  // otherwise work that takes longer would never end. Attempts that ended with
  // a drain or a loss were not slow: when many workers drain at once, the head
  // moves through several of them.
  const uint64_t shift = std::min<uint64_t>(work->retries + 1, 12);
  const absl::Duration slow_after = SlowAfter();
  const absl::Duration patience =
      slow_after * static_cast<int64_t>(uint64_t{1} << shift);
  if (stood <= slow_after || work->leases.empty()) return;
  const WorkerId slow = work->leases.front().worker;
  if (!leases_.Retry(head, now, stood > patience)) return;
  log_.SecondAttempt(key, slow, stood);
}

// A lease that is given further ahead reaches its worker late, and lies there
// for longer before the split is the head.
absl::Duration LeaseScheduler::SlowAfter() const {
  const auto further = static_cast<int64_t>(leases_.reach() - 1);
  return settings_.straggler_after + 3 * further * settings_.split_time;
}

}  // namespace feedmill

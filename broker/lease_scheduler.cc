#include "broker/lease_scheduler.h"

#include <algorithm>
#include <cstdint>

#include "broker/input_jobs.h"

namespace feedmill {

void LeaseReach::Add(absl::Duration delay) {
  delays_[next_] = delay;
  next_ = (next_ + 1) % delays_.size();
}

uint64_t LeaseReach::Of(absl::Duration split_time) const {
  auto delays = delays_;
  std::sort(delays.begin(), delays.end());
  absl::Duration rest;
  const int64_t splits =
      absl::IDivDuration(delays[delays.size() / 2], split_time, &rest);
  return static_cast<uint64_t>(std::clamp<int64_t>(splits + 1, 1, kMax));
}

namespace {

constexpr uint64_t kShareMax = 4'096;  // splits of one consumer

}  // namespace

void LeaseScheduler::Fill(absl::Time now) {
  if (now < lease_from_) return;
  const uint64_t consumers = std::max<uint64_t>(1, context_.readers.size());
  const uint64_t share = std::min(
      kShareMax, context_.leases.reach() * context_.leases.slots() / consumers);
  context_.leases.Fill(now, static_cast<uint32_t>(share));
}

void LeaseScheduler::RetryHeads(absl::Time now) {
  for (const auto& [key, reader] : context_.readers.readers()) {
    if (now - reader.heard <= context_.clock.ParkAfter()) RetryHead(now, key);
  }
}

void LeaseScheduler::RetryHead(absl::Time now, const SessionKey& key) {
  const SessionState& session = *context_.state->FindSession(key);
  if (session.waiting.empty()) return;
  const SplitId head = *session.waiting.begin();
  const LeaseTable::Work* work = context_.leases.Find(head);
  if (work == nullptr) return;
  // A consumer with buffered elements is itself the slow part. For a sharer
  // this is unknown, because it reports only elements that it handed out.
  const JobState& job = *context_.state->FindJob(key.job);
  if (job.order == Order::kDeterministic) {
    const SplitState& split = *context_.state->FindSplit(head);
    if (*session.splits.begin() != head || split.out < split.taken) {
      context_.leases.NoteProgress(head, now);
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
  if (WaitsForInput(context_, job, now)) {  // another worker would wait, too
    context_.leases.NoteProgress(head, now);
    return;
  }
  const WorkerId slow = work->leases.front().worker;
  if (!context_.leases.Retry(head, now, stood > patience)) return;
  context_.log.SecondAttempt(key, slow, stood);
}

// A lease that is given further ahead reaches its worker late, and lies there
// for longer before the split is the head.
absl::Duration LeaseScheduler::SlowAfter() const {
  const auto further = static_cast<int64_t>(context_.leases.reach() - 1);
  return context_.settings.straggler_after +
         3 * further * context_.settings.split_time;
}

}  // namespace feedmill

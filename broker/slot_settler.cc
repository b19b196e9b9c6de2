#include "broker/slot_settler.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "broker/run_choice.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"

namespace feedmill {
namespace {

// Returns the final number of slots of the run. 0 if it is not final, has no
// slots, or is unknown.
uint64_t SettledSlots(const JobState& job, RunNumber run) {
  if (run == job.run) return job.settled ? job.slots : 0;
  const auto known = job.slots_of.find(run);
  return known == job.slots_of.end() ? 0 : known->second;
}

// True if the store has met no other rank of the same number of ranks.
bool IsAlone(const Share& share, const JobState& job) {
  const auto is_other = [&](const auto& finished) {
    return finished.first != share.rank;
  };
  return job.ranks != share.ranks ||
         std::none_of(job.finished.begin(), job.finished.end(), is_other);
}

}  // namespace

uint64_t SlotSettler::SlotsNow() const {
  const auto stays = [](const auto& worker) { return !worker.second.draining; };
  const auto& workers = context_.leases.workers();
  const auto count = std::count_if(workers.begin(), workers.end(), stays);
  return std::clamp<uint64_t>(static_cast<uint64_t>(count), 1, kSlotsMax);
}

void SlotSettler::GrowRuns() {
  std::optional<uint64_t> slots;  // computed at most once, and only if needed
  for (const JobName& name : binder_.UnsettledJobs()) {
    if (!slots) slots = SlotsNow();
    if (context_.state->FindJob(name)->slots < *slots)
      Extend(name, *slots, false);
  }
}

void SlotSettler::Extend(const JobName& name, uint64_t slots, bool last) {
  const JobState& job = *context_.state->FindJob(name);
  if (slots < job.slots) {  // splits are bound again
    for (const auto& [consumer, session] : job.sessions) {
      context_.leases.RemoveAll(session.splits);
    }
  }
  context_.state.Commit(RunExtended{name, slots, last});
  binder_.NoteExhaustionSent(job);
  if (last) awaiting_.erase(name);
  context_.outbox.AnswerSessions(job);
}

void SlotSettler::Learn(const ClientHello& hello) {
  const JobState& job = *context_.state->FindJob(hello.job);
  const bool planning = job.phase == RunPhase::kPlanning;
  if (hello.slots == 0 || job.over() || (!planning && job.slots == 0)) return;
  uint64_t slots = std::min(hello.slots, kSlotsMax);
  // A run whose number is not final was read in its first slot only (P-190).
  const bool exact = hello.settled && job.order == Order::kDeterministic;
  if (!exact) slots = std::max(slots, job.slots);
  if (!job.settled) {
    if (slots != job.slots || hello.settled) {
      Extend(hello.job, slots, hello.settled);
    }
  } else if (exact && slots != job.slots && hello.cursor != Cursor{} &&
             IsAlone(hello.share, job)) {
    Extend(hello.job, slots, true);
  }
}

absl::Status SlotSettler::Check(const ClientHello& hello,
                                const JobState& job) const {
  if (!hello.settled || hello.slots == 0 || hello.cursor == Cursor{} ||
      job.order != Order::kDeterministic || IsAlone(hello.share, job)) {
    return absl::OkStatus();
  }
  const RunNumber run = RunOf(hello, job);
  const uint64_t known = SettledSlots(job, run);
  if (known == 0 || known == hello.slots) return absl::OkStatus();
  return FailedPrecondition(
      "iteration {} of job '{}' has {} passes (processing_mode off) for the "
      "other consumers, and '{}' reads one of {}: the dispatcher lost its "
      "state, and did not hear of '{}' for its client timeout; start that "
      "one again from the beginning, or all from earlier tokens",
      run.value() - 1, job.name.value(), known, hello.session.consumer.value(),
      hello.slots, hello.session.consumer.value());
}

void SlotSettler::SettleIfDue(absl::Time now, const JobName& name) {
  const JobState& job = *context_.state->FindJob(name);
  if (job.phase != RunPhase::kRunning || job.settled) return;
  const uint64_t slot = job.positions / job.slots;
  bool due = job.DoneRanks() > 0 || job.ended_positions >= slot;
  if (job.order == Order::kDeterministic) {
    for (const auto& [consumer, session] : job.sessions) {
      const Cursor taken =
          session.waiting.empty()
              ? session.next
              : context_.state->FindSplit(*session.waiting.begin())->taken;
      due = due || taken.p >= slot;
    }
  }
  const bool awaits = due && AwaitsRanks(now, job);
  if (due && !awaits) Extend(name, job.slots, true);
  if (!binder_.Binds(name) || Awaits(name) == awaits) return;
  if (awaits) {
    awaiting_.insert(name);
  } else {
    awaiting_.erase(name);
  }
  context_.outbox.AnswerSessions(job);
}

// ---- runs that began before the store was emptied

void SlotSettler::NoteOtherStore() {
  if (follows_) return;
  follows_ = true;
  for (const auto& [name, job] : context_.state->jobs) AwaitRanks(job, began_);
}

// Signs of a run that began before the store was emptied: a rank that this
// store has not met has already read, or peers have seen the journal of another
// store.
void SlotSettler::NoteReader(absl::Time now, const ClientHello& hello) {
  const JobState& job = *context_.state->FindJob(hello.job);
  const bool other = job.ranks != hello.share.ranks;
  if (other) Forget(hello.job);
  if (hello.share.whole()) return;
  const bool met = !other && job.finished.contains(hello.share.rank);
  const bool reads = hello.slots > 0 || hello.cursor != Cursor{};
  if (follows_) AwaitRanks(job, began_);
  if (!met && reads) AwaitRanks(job, now);
}

void SlotSettler::AwaitRanks(const JobState& job, absl::Time since) {
  if (job.order != Order::kDeterministic || job.settled) return;
  begun_before_.try_emplace(job.name,
                            since + context_.clock.ClientTimeout(job));
}

// True while the number waits for ranks that it has not met. The wait is
// bounded: ranks that read send a hello soon, but ranks that reached their end
// before the store was emptied never do.
bool SlotSettler::AwaitsRanks(absl::Time now, const JobState& job) const {
  const auto until = begun_before_.find(job.name);
  return until != begun_before_.end() &&
         now < std::max(until->second, context_.clock.judge_from()) &&
         job.finished.size() < job.ranks;
}

void SlotSettler::SettleWithoutSilent(absl::Time now) {
  std::vector<JobName> due;
  for (const auto& [name, until] : begun_before_) {
    if (until <= now) due.push_back(name);
  }
  for (const JobName& name : due) {
    begun_before_.erase(name);
    SettleIfDue(now, name);
  }
}

}  // namespace feedmill

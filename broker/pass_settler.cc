#include "broker/pass_settler.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "broker/run_choice.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"

namespace feedmill {
namespace {

// Returns the final number of passes of the run. 0 if it is not final, unknown,
// or the run reads its graph once.
uint64_t SettledPasses(const JobState& job, RunNumber run) {
  if (run == job.run) return job.settled ? job.passes : 0;
  const auto known = job.passes_of.find(run);
  return known == job.passes_of.end() ? 0 : known->second;
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

uint64_t PassSettler::PassesNow() const {
  const auto stays = [](const auto& worker) { return !worker.second.draining; };
  const auto& workers = context_.leases.workers();
  const auto count = std::count_if(workers.begin(), workers.end(), stays);
  return std::clamp<uint64_t>(static_cast<uint64_t>(count), 1, kPassesMax);
}

void PassSettler::GrowRuns() {
  std::optional<uint64_t> passes;  // computed at most once, and only if needed
  for (const JobName& name : binder_.UnsettledJobs()) {
    if (!passes) passes = PassesNow();
    if (context_.state->FindJob(name)->passes < *passes)
      Extend(name, *passes, false);
  }
}

void PassSettler::Extend(const JobName& name, uint64_t passes, bool last) {
  const JobState& job = *context_.state->FindJob(name);
  if (passes < job.passes) {  // splits are bound again
    for (const auto& [consumer, session] : job.sessions) {
      context_.leases.RemoveAll(session.splits);
    }
  }
  context_.state.Commit(RunExtended{name, passes, last});
  binder_.NoteExhaustionSent(job);
  if (last) awaiting_.erase(name);
  context_.outbox.AnswerSessions(job);
}

void PassSettler::Learn(const ClientHello& hello) {
  const JobState& job = *context_.state->FindJob(hello.job);
  const bool planning = job.phase == RunPhase::kPlanning;
  if (hello.passes == 0 || job.over() || (!planning && job.passes == 0)) return;
  uint64_t passes = std::min(hello.passes, kPassesMax);
  // A run whose number is not final was read in its first pass only (P-190).
  const bool exact = hello.settled && job.order == Order::kDeterministic;
  if (!exact) passes = std::max(passes, job.passes);
  if (!job.settled) {
    if (passes != job.passes || hello.settled) {
      Extend(hello.job, passes, hello.settled);
    }
  } else if (exact && passes != job.passes && hello.cursor != Cursor{} &&
             IsAlone(hello.share, job)) {
    Extend(hello.job, passes, true);
  }
}

absl::Status PassSettler::Check(const ClientHello& hello,
                                const JobState& job) const {
  if (!hello.settled || hello.passes == 0 || hello.cursor == Cursor{} ||
      job.order != Order::kDeterministic || IsAlone(hello.share, job)) {
    return absl::OkStatus();
  }
  const RunNumber run = RunOf(hello, job);
  const uint64_t known = SettledPasses(job, run);
  if (known == 0 || known == hello.passes) return absl::OkStatus();
  return FailedPrecondition(
      "iteration {} of job '{}' has {} passes (processing_mode off) for the "
      "other consumers, and '{}' reads one of {}: the dispatcher lost its "
      "state, and did not hear of '{}' for its client timeout; start that "
      "one again from the beginning, or all from earlier tokens",
      run.value() - 1, job.name.value(), known, hello.session.consumer.value(),
      hello.passes, hello.session.consumer.value());
}

void PassSettler::SettleIfDue(absl::Time now, const JobName& name) {
  const JobState& job = *context_.state->FindJob(name);
  if (job.phase != RunPhase::kRunning || job.settled) return;
  const uint64_t pass = job.positions / job.passes;
  bool due = job.DoneRanks() > 0 || job.ended_positions >= pass;
  if (job.order == Order::kDeterministic) {
    for (const auto& [consumer, session] : job.sessions) {
      const Cursor taken =
          session.waiting.empty()
              ? session.next
              : context_.state->FindSplit(*session.waiting.begin())->taken;
      due = due || taken.p >= pass;
    }
  }
  const bool awaits = due && AwaitsRanks(now, job);
  if (due && !awaits) Extend(name, job.passes, true);
  if (!binder_.Binds(name) || Awaits(name) == awaits) return;
  if (awaits) {
    awaiting_.insert(name);
  } else {
    awaiting_.erase(name);
  }
  context_.outbox.AnswerSessions(job);
}

// ---- runs that began before the store was emptied

void PassSettler::NoteOtherStore() {
  if (follows_) return;
  follows_ = true;
  for (const auto& [name, job] : context_.state->jobs) AwaitRanks(job, began_);
}

// Signs of a run that began before the store was emptied: a rank that this
// store has not met has already read, or peers have seen the journal of another
// store.
void PassSettler::NoteReader(absl::Time now, const ClientHello& hello) {
  const JobState& job = *context_.state->FindJob(hello.job);
  const bool other = job.ranks != hello.share.ranks;
  if (other) Forget(hello.job);
  if (hello.share.whole()) return;
  const bool met = !other && job.finished.contains(hello.share.rank);
  const bool reads = hello.passes > 0 || hello.cursor != Cursor{};
  if (follows_) AwaitRanks(job, began_);
  if (!met && reads) AwaitRanks(job, now);
}

void PassSettler::AwaitRanks(const JobState& job, absl::Time since) {
  if (job.order != Order::kDeterministic || job.settled) return;
  begun_before_.try_emplace(job.name,
                            since + context_.clock.ClientTimeout(job));
}

// True while the number waits for ranks that it has not met. The wait is
// bounded: ranks that read send a hello soon, but ranks that reached their end
// before the store was emptied never do.
bool PassSettler::AwaitsRanks(absl::Time now, const JobState& job) const {
  const auto until = begun_before_.find(job.name);
  return until != begun_before_.end() &&
         now < std::max(until->second, context_.clock.judge_from()) &&
         job.finished.size() < job.ranks;
}

void PassSettler::SettleWithoutSilent(absl::Time now) {
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

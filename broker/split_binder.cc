#include "broker/split_binder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "broker/input_jobs.h"
#include "core/wire/input_job.h"

namespace feedmill {
namespace {

// Maximum number of splits ahead of a consumer, for any number of worker
// slots.
constexpr uint64_t kWindowMax = 4'096;
// Maximum number of ranges kept for ranks that are behind.
constexpr size_t kRangesMax = 4'096;

bool IsInput(const JobState& job) {
  return !InputJobPrefixOf(job.name).empty();
}

}  // namespace

void SplitBinder::Begin(const JobState& job) {
  runs_.insert_or_assign(job.name,
                         Run{SplitSizer({context_.settings.split_time,
                                         context_.settings.split_bytes},
                                        job.first_split)});
  context_.plans.Begin(job);
}

void SplitBinder::End(const JobState& job) {
  for (const auto& [consumer, session] : job.sessions) {
    context_.leases.RemoveAll(session.splits);
  }
  runs_.erase(job.name);
  context_.plans.End(job);
}

std::vector<JobName> SplitBinder::UnsettledJobs() const {
  std::vector<JobName> jobs;
  for (const auto& [name, run] : runs_) {
    if (!context_.state->FindJob(name)->settled) jobs.push_back(name);
  }
  return jobs;
}

void SplitBinder::Restore(absl::Time now, const JobState& job,
                          const SessionState& session) {
  uint32_t depth = 0;
  for (const SplitId& id : session.waiting) {
    if (!context_.state->FindSplit(id)->error.ok()) continue;
    context_.leases.Add(id, depth++, now, Remember(job, id, runs_.at(job.name)),
                        context_.plans.PythonNeedsOf(job), IsInput(job));
  }
}

void SplitBinder::BindAll(absl::Time now) {
  for (const auto& [key, reader] : context_.readers.readers()) Bind(now, key);
}

void SplitBinder::BindJob(absl::Time now, const JobName& name) {
  const JobState& job = *context_.state->FindJob(name);
  for (const auto& [consumer, session] : job.sessions) {
    Bind(now, {name, consumer});
  }
}

void SplitBinder::Bind(absl::Time now, const SessionKey& key) {
  const auto run = runs_.find(key.job);
  if (run == runs_.end() || context_.leases.slots() == 0) return;
  if (now - context_.readers.At(key).heard > context_.clock.ParkAfter()) return;
  const JobState& job = *context_.state->FindJob(key.job);
  const uint64_t sharers =
      Together(job) ? 1 : std::max<size_t>(1, job.sessions.size());
  // While the cost is unknown, splits may have far more work than intended.
  const uint64_t reach =
      context_.plans.CostOf(job.plan).known() ? context_.leases.reach() : 1;
  const uint64_t window = std::min(
      kWindowMax,
      std::max<uint64_t>(context_.settings.window_min,
                         2 * reach * context_.leases.slots() / sharers));
  const SessionState& session = *context_.state->FindSession(key);
  for (size_t used = context_.rules->WindowUsed(session); used < window;
       used = context_.rules->WindowUsed(session)) {
    if (!BindSome(now, key, run->second, window - used)) break;
  }
  SendIfExhausted(job, run->second);
}

// Binds up to `room` splits of one size. False if no position is left.
bool SplitBinder::BindSome(absl::Time now, const SessionKey& key, Run& run,
                           uint64_t room) {
  const JobState& job = *context_.state->FindJob(key.job);
  const SessionState& session = *context_.state->FindSession(key);
  RangePool::Range left{session.next, {job.positions, 0}};
  if (job.order == Order::kAny) left = job.Unbound();
  if (left.begin >= left.end) return false;
  SplitsBound bound{context_.rules->NameSplit(*context_.state, key, left.begin),
                    key, left.begin, left.begin, 0};
  for (uint64_t count = 0; count < room && bound.end < left.end; ++count) {
    const uint64_t remaining = left.end.p - bound.end.p;
    SplitSizer sizer = run.sizer;
    const uint64_t size = SplitSize(job, bound.end, remaining, run, sizer);
    if (count == 0) bound.size = size;
    if (size != bound.size) break;
    run.sizer = sizer;
    bound.end = {bound.end.p + std::min(size, remaining), 0};
  }
  const uint64_t count = bound.count();
  context_.state.Commit(bound);
  auto depth = static_cast<uint32_t>(session.waiting.size() - count);
  for (uint64_t k = 0; k < count; ++k) {
    const SplitId id = bound.name(k);
    context_.leases.Add(id, depth++, now, Remember(job, id, run),
                        context_.plans.PythonNeedsOf(job), IsInput(job));
  }
  SetDepths(context_, key, now);
  context_.outbox.AnswerSession(key);
  return true;
}

// Returns the number of positions of the next split. If another rank was bound
// to a range there, the split ends where that range ends, so that workers
// compute the data of both once.
uint64_t SplitBinder::SplitSize(const JobState& job, Cursor begin,
                                uint64_t remaining, const Run& run,
                                SplitSizer& sizer) const {
  const auto next = run.ranges.upper_bound(begin.p);
  if (next != run.ranges.begin() && std::prev(next)->second > begin.p) {
    return std::prev(next)->second - begin.p;
  }
  const uint64_t size = sizer.Next(context_.plans.CostOf(job.plan), remaining,
                                   context_.leases.slots());
  return next == run.ranges.end() ? size
                                  : std::min(size, next->first - begin.p);
}

// True if all ranks of the job need the same data: the rank of an element is
// known only when all elements before it are made.
bool SplitBinder::Together(const JobState& job) {
  return job.ranks >= 2 && !context_.plans.Numbered(job);
}

// Keeps the split's range for the other ranks and returns the key of the
// co-located splits. Nullopt if the other ranks do not need the same data.
std::optional<SharedRange> SplitBinder::Remember(const JobState& job,
                                                 const SplitId& id, Run& run) {
  if (!Together(job)) return std::nullopt;
  const SplitState& split = *context_.state->FindSplit(id);
  run.ranges.insert_or_assign(split.begin.p, split.end.p);
  if (run.ranges.size() > kRangesMax) run.ranges.erase(run.ranges.begin());
  return SharedRange{job.plan, split.end.p};
}

void SplitBinder::SendIfExhausted(const JobState& job, Run& run) {
  const bool exhausted = job.exhausted();
  if (std::exchange(run.exhaustion_sent, exhausted) == exhausted) return;
  // If new positions have come, the answer with their splits has the news.
  if (exhausted) context_.outbox.AnswerSessions(job);
}

void SplitBinder::NoteExhaustionSent(const JobState& job) {
  const auto run = runs_.find(job.name);
  if (run != runs_.end()) run->second.exhaustion_sent = job.exhausted();
}

}  // namespace feedmill

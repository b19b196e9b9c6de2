#include <algorithm>
#include <iterator>

#include "broker/dispatcher.h"

// Ranks that need the same pieces: they are bound the same ranges.

namespace feedmill {
namespace {

// Ranges that are remembered for ranks that are behind.
constexpr size_t kRangesMax = 4'096;

}  // namespace

// Positions of the next split: as many as another rank was given there, if all
// need the same, so that what one has is made for all.
uint64_t Dispatcher::SplitSize(const JobState& job, Cursor begin,
                               uint64_t remaining, const RunWork& work,
                               SplitSizer& sizer) {
  const auto next = work.ranges.upper_bound(begin.p);
  if (next != work.ranges.begin() && std::prev(next)->second > begin.p) {
    return std::prev(next)->second - begin.p;
  }
  const uint64_t size =
      sizer.Next(plans_.at(job.plan).cost, remaining, table_.slots());
  return next == work.ranges.end() ? size
                                   : std::min(size, next->first - begin.p);
}

// Whether all ranks of the job need the same pieces: whose an element is shows
// only when all before it are made.
bool Dispatcher::Together(const JobState& job) {
  if (job.ranks < 2 || !planner_.numbered) return false;
  const auto plan = plans_.find(job.plan);
  if (plan == plans_.end()) return false;
  std::optional<bool>& numbered = plan->second.numbered;
  if (!numbered.has_value()) numbered = planner_.numbered(RunGraph(job));
  return !*numbered;
}

// For the other ranks, if there are any who need the same.
std::optional<Kin> Dispatcher::Remember(const JobState& job, const SplitId& id,
                                        RunWork& work) {
  if (!Together(job)) return std::nullopt;
  const SplitState& split = *state_.FindSplit(id);
  work.ranges.insert_or_assign(split.begin.p, split.end.p);
  if (work.ranges.size() > kRangesMax) work.ranges.erase(work.ranges.begin());
  return Kin{job.plan, split.end.p};
}

}  // namespace feedmill

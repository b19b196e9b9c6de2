#include "core/cluster/job_layout.h"

#include <utility>

#include "core/base/status.h"
#include "core/cluster/hostlist.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

constexpr auto kTasksMax = static_cast<int64_t>(kHostsMax);

absl::StatusOr<int64_t> CountFixed(const JobLayout& layout, int64_t present) {
  int64_t fixed = 0;
  for (const JobShare& share : layout) {
    const int64_t count = share.count.value_or(0);
    if (count < 0 || count > kTasksMax) {
      return InvalidArgument("job '{}' wants {} tasks; 0 to {} are possible",
                             share.job, count, kTasksMax);
    }
    fixed += count;
  }
  if (fixed <= present) return fixed;
  return InvalidArgument(
      "the jobs want {} tasks but only {} were assigned; start more tasks or "
      "ask for fewer",
      fixed, present);
}

}  // namespace

absl::StatusOr<JobLayout> ParseJobLayout(std::string_view text) {
  JobLayout layout;
  for (const std::string_view item : SplitWords(text, ',')) {
    const size_t colon = item.find(':');
    JobShare share{std::string(item.substr(0, colon)), std::nullopt};
    if (colon != std::string_view::npos) {
      share.count = ParseDecimal(item.substr(colon + 1));
    }
    const bool counted = share.count.has_value() && *share.count >= 1 &&
                         *share.count <= kTasksMax;
    if (share.job.empty() || (colon != std::string_view::npos && !counted)) {
      return InvalidArgument(
          "'{}' is no share of the tasks; write job:count, with a count from 1 "
          "on, or a job alone for the rest",
          item);
    }
    for (const JobShare& other : layout) {
      if (other.job == share.job) {
        return InvalidArgument("job '{}' is written twice", share.job);
      }
      if (!other.count.has_value() && !share.count.has_value()) {
        return InvalidArgument("jobs '{}' and '{}' cannot both have the rest",
                               other.job, share.job);
      }
    }
    layout.push_back(std::move(share));
  }
  return layout;
}

absl::Status CutIntoJobs(const JobLayout& layout,
                         const std::vector<std::string>& addresses,
                         std::optional<int64_t> rank, ClusterView* view) {
  const auto present = static_cast<int64_t>(addresses.size());
  FM_ASSIGN_OR_RETURN(const int64_t fixed, CountFixed(layout, present));
  std::vector<std::pair<std::string, ClusterSpec::Tasks>> jobs;
  int64_t from = 0;
  for (const JobShare& share : layout) {
    const int64_t count = share.count.value_or(present - fixed);
    if (count == 0) continue;
    jobs.emplace_back(
        share.job, std::vector<std::string>(addresses.begin() + from,
                                            addresses.begin() + from + count));
    if (rank.has_value() && *rank >= from && *rank < from + count) {
      view->task_type = share.job;
      view->task_id = *rank - from;
    }
    from += count;
  }
  FM_ASSIGN_OR_RETURN(view->spec, ClusterSpec::FromJobs(jobs));
  return absl::OkStatus();
}

}  // namespace feedmill

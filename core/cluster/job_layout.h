#ifndef FEEDMILL_CORE_CLUSTER_JOB_LAYOUT_H_
#define FEEDMILL_CORE_CLUSTER_JOB_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/resolver.h"

namespace feedmill {

// "dispatcher:1,worker:3" or "dispatcher:1,worker".
absl::StatusOr<JobLayout> ParseJobLayout(std::string_view text);

// Divides a list of addresses, one per task, into the jobs of `view`. `rank`:
// index of this process in the list; it sets the view's task unless it is
// beyond the layout. InvalidArgument if the layout needs more tasks than there
// are.
absl::Status CutIntoJobs(const JobLayout& layout,
                         const std::vector<std::string>& addresses,
                         std::optional<int64_t> rank, ClusterView* view);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_JOB_LAYOUT_H_

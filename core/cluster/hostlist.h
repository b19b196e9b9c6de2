#ifndef FEEDMILL_CORE_CLUSTER_HOSTLIST_H_
#define FEEDMILL_CORE_CLUSTER_HOSTLIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// of one list; also the maximum of tasks
inline constexpr size_t kHostsMax = 100'000;

// Expands a Slurm host list. Keeps its order and its duplicates:
//
//   ExpandHostlist("n[08-10,12],login,r[1-2]c[0-1]-ib")
//     → n08 n09 n10 n12 login r1c0-ib r1c1-ib r2c0-ib r2c1-ib
//
// If the first number of a range begins with 0, all its numbers have that
// width. InvalidArgument quotes the list and the position of the fault: an
// empty list or name, unmatched brackets, a descending range, a character other
// than letters, digits, '.', '-' and '_', more than kHostsMax hosts.
absl::StatusOr<std::vector<std::string>> ExpandHostlist(std::string_view text);

// Expands Slurm's tasks per node: "3(x2),2,1" → 3 3 2 1. InvalidArgument as
// above, and for a count or repetition of 0 and for more than kHostsMax tasks.
absl::StatusOr<std::vector<int64_t>> ExpandTasksPerNode(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_HOSTLIST_H_

#ifndef FEEDMILL_CORE_CLUSTER_HOSTLIST_H_
#define FEEDMILL_CORE_CLUSTER_HOSTLIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

inline constexpr size_t kHostsMax = 100'000;  // of one list; tasks, too

// The hosts of a Slurm host list, in its order, repeated ones repeated:
//
//   ExpandHostlist("n[08-10,12],login,r[1-2]c[0-1]-ib")
//     → n08 n09 n10 n12 login r1c0-ib r1c1-ib r2c0-ib r2c1-ib
//
// A range counts in the width of its first number if that begins with 0.
// InvalidArgument quotes the list and says where it is wrong: an empty list or
// name, brackets that do not match, a range that runs down, other characters
// than letters, digits, '.', '-' and '_', more than kHostsMax hosts.
absl::StatusOr<std::vector<std::string>> ExpandHostlist(std::string_view text);

// Slurm's tasks per node: "3(x2),2,1" → 3 3 2 1. InvalidArgument as above,
// also for a count or repetition of 0 and for more than kHostsMax tasks.
absl::StatusOr<std::vector<int64_t>> ExpandTasksPerNode(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_HOSTLIST_H_

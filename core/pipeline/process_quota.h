#ifndef FEEDMILL_CORE_PIPELINE_PROCESS_QUOTA_H_
#define FEEDMILL_CORE_PIPELINE_PROCESS_QUOTA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// The CPUs that the cgroups of a process allow, rounded up: the least quota of
// its group and all above it; nullopt without one. `proc_cgroup` is the text
// of /proc/self/cgroup, `root` where cgroups are mounted (/sys/fs/cgroup);
// versions 1 and 2.
std::optional<int> CgroupCpus(const std::string& proc_cgroup,
                              const std::string& root);
// The same of memory, in bytes.
std::optional<uint64_t> CgroupMemory(const std::string& proc_cgroup,
                                     const std::string& root);

// Bytes of memory that this process may use: the machine's, its cgroups'
// limit, its address space (ulimit -v).
uint64_t AvailableMemory();

// Least bound of an element's size: steps read and make that much together.
inline constexpr uint64_t kElementBytesLeast = uint64_t{8} << 20;

// The bound of an element's size that an option of `given` bytes stands for. 0
// stands for the default: kElementBytesMax, or an eighth of AvailableMemory()
// where that is less, but kElementBytesLeast in any case. InvalidArgument if it
// is less than kElementBytesLeast or more than `most`.
absl::StatusOr<uint64_t> ElementBytesMax(uint64_t given,
                                         uint64_t most = UINT64_MAX);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PROCESS_QUOTA_H_

#ifndef FEEDMILL_CORE_PROCESS_PROCESS_QUOTA_H_
#define FEEDMILL_CORE_PROCESS_PROCESS_QUOTA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// Returns the number of CPUs that the cgroups of a process allow, rounded up:
// the smallest quota of its group and all groups above it. nullopt without a
// quota. `proc_cgroup` is the text of /proc/self/cgroup. `root` is the mount
// point of cgroups (/sys/fs/cgroup). Supports versions 1 and 2.
std::optional<int> CgroupCpus(const std::string& proc_cgroup,
                              const std::string& root);
// Same for memory, in bytes.
std::optional<uint64_t> CgroupMemory(const std::string& proc_cgroup,
                                     const std::string& root);

// Number of CPUs that this process may use, by its cgroup's quota and its
// affinity mask.
int AvailableCpus();
// Bytes of memory that this process may use: the least of the machine's memory,
// its cgroups' limit and its address space (ulimit -v).
uint64_t AvailableMemory();

// Returns the bound of the elements that `threads` threads make ahead of a
// reader, in bytes. If `given` is 0, it is 64 MiB for each thread, so that each
// can make a batch of that size: at least 256 MiB, and no more than that if an
// eighth of AvailableMemory() is less.
uint64_t ElementMemory(uint64_t given, int threads);

// Smallest allowed bound of an element's size: steps read and make about that
// much together.
inline constexpr uint64_t kElementBytesLeast = uint64_t{8} << 20;

// Returns the bound of an element's size for an option of `given` bytes. If
// `given` is 0, the default is the smaller of kElementBytesMax and
// AvailableMemory() / 8, but at least kElementBytesLeast. InvalidArgument if
// `given` is less than kElementBytesLeast or more than `most`.
absl::StatusOr<uint64_t> ElementBytesMax(uint64_t given,
                                         uint64_t most = UINT64_MAX);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_PROCESS_QUOTA_H_

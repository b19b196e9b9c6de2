#ifndef FEEDMILL_CORE_PIPELINE_CPU_QUOTA_H_
#define FEEDMILL_CORE_PIPELINE_CPU_QUOTA_H_

#include <optional>
#include <string>

namespace feedmill {

// The CPUs that the cgroups of a process allow, rounded up: the least quota of
// its group and all above it; nullopt without one. `proc_cgroup` is the text
// of /proc/self/cgroup, `root` where cgroups are mounted (/sys/fs/cgroup);
// versions 1 and 2.
std::optional<int> CgroupCpus(const std::string& proc_cgroup,
                              const std::string& root);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CPU_QUOTA_H_

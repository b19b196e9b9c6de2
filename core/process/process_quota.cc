#include "core/process/process_quota.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include "core/base/byte_budget.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr int kCpusMax = 4096;

std::string ReadFirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<int> QuotaToCpus(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  const double cpus = quota / period;
  if (cpus >= kCpusMax) return std::nullopt;
  const int whole = static_cast<int>(cpus);
  return std::max(1, whole + (cpus > whole ? 1 : 0));
}

std::optional<int> QuotaV2(const std::string& group) {
  std::istringstream in(ReadFirstLine(group + "/cpu.max"));
  double quota = 0;  // "max" is not a number: no quota
  double period = 0;
  if (!(in >> quota >> period)) return std::nullopt;
  return QuotaToCpus(quota, period);
}

std::optional<int> QuotaV1(const std::string& group) {
  std::istringstream quota_in(ReadFirstLine(group + "/cpu.cfs_quota_us"));
  std::istringstream period_in(ReadFirstLine(group + "/cpu.cfs_period_us"));
  double quota = 0;  // -1: no quota
  double period = 0;
  if (!(quota_in >> quota) || !(period_in >> period)) return std::nullopt;
  return QuotaToCpus(quota, period);
}

// Returns the memory limit in a file. "max" or a number that no machine has
// means no limit.
std::optional<uint64_t> MemoryIn(const std::string& path) {
  std::istringstream in(ReadFirstLine(path));
  uint64_t bytes = 0;
  if (!(in >> bytes) || bytes >= uint64_t{1} << 60) return std::nullopt;
  return bytes;
}

std::optional<uint64_t> MemoryV2(const std::string& group) {
  return MemoryIn(group + "/memory.max");
}

std::optional<uint64_t> MemoryV1(const std::string& group) {
  return MemoryIn(group + "/memory.limit_in_bytes");
}

template <class T>
std::optional<T> Least(std::optional<T> a, std::optional<T> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Returns the smallest quota from `mount`/`path` up to `mount`.
template <class Quota>
auto LeastUpward(const std::string& mount, std::string path, Quota quota) {
  auto least = quota(mount);
  while (!path.empty() && path != "/") {
    least = Least(least, quota(mount + path));
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return least;
}

bool HasController(const std::string& controllers, std::string_view name) {
  std::istringstream in(controllers);
  for (std::string one; std::getline(in, one, ',');) {
    if (one == name) return true;
  }
  return false;
}

int AffinityCpus() {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<size_t>(cpus)),
        [](cpu_set_t* s) { CPU_FREE(s); });
    if (set == nullptr) break;
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    if (sched_getaffinity(0, size, set.get()) == 0) {
      return std::max(1, CPU_COUNT_S(size, set.get()));
    }
    if (errno != EINVAL) break;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

namespace {

// Returns the smallest of `v2(group)` in the version 2 hierarchy and of
// `v1(group)` in the hierarchy of `controller`. That hierarchy may be mounted
// at any of `mounts`.
template <class T>
std::optional<T> LeastOfGroups(const std::string& proc_cgroup,
                               const std::string& root,
                               std::string_view controller,
                               std::initializer_list<const char*> mounts,
                               std::optional<T> (*v2)(const std::string&),
                               std::optional<T> (*v1)(const std::string&)) {
  std::optional<T> least;
  std::istringstream in(proc_cgroup);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = Least(least, LeastUpward(root, path, v2));
    } else if (HasController(controllers, controller)) {
      for (const char* mount : mounts) {
        least = Least(least, LeastUpward(root + mount, path, v1));
      }
    }
  }
  return least;
}

constexpr char kCgroups[] = "/sys/fs/cgroup";

std::string OwnGroups() {
  std::ifstream in("/proc/self/cgroup");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::optional<int> CgroupCpus(const std::string& proc_cgroup,
                              const std::string& root) {
  return LeastOfGroups<int>(proc_cgroup, root, "cpu", {"/cpu", "/cpu,cpuacct"},
                            QuotaV2, QuotaV1);
}

std::optional<uint64_t> CgroupMemory(const std::string& proc_cgroup,
                                     const std::string& root) {
  return LeastOfGroups<uint64_t>(proc_cgroup, root, "memory", {"/memory"},
                                 MemoryV2, MemoryV1);
}

int AvailableCpus() {
  const int quota = CgroupCpus(OwnGroups(), kCgroups).value_or(kCpusMax);
  return std::min(quota, AffinityCpus());
}

uint64_t AvailableMemory() {
  uint64_t bytes = CgroupMemory(OwnGroups(), kCgroups).value_or(UINT64_MAX);
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) {
    bytes = std::min(
        bytes, static_cast<uint64_t>(pages) * static_cast<uint64_t>(page));
  }
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    bytes = std::min<uint64_t>(bytes, space.rlim_cur);
  }
  return bytes;
}

uint64_t ElementMemory(uint64_t given, int threads) {
  constexpr uint64_t kLeast = uint64_t{256} << 20;
  constexpr uint64_t kOfThread = uint64_t{64} << 20;
  if (given > 0) return given;
  const uint64_t wanted = kOfThread * static_cast<uint64_t>(threads);
  return std::max(kLeast, std::min(wanted, AvailableMemory() / 8));
}

absl::StatusOr<uint64_t> ElementBytesMax(uint64_t given, uint64_t most) {
  if (given == 0) {
    return std::clamp(AvailableMemory() / 8, kElementBytesLeast,
                      kElementBytesMax);
  }
  if (given >= kElementBytesLeast && given <= most) return given;
  return InvalidArgument(
      "--element-max {}: an element's limit is at least {}{}", BytesText(given),
      BytesText(kElementBytesLeast),
      most == UINT64_MAX ? ""
                         : fmt::format(", and at most {}", BytesText(most)));
}

}  // namespace feedmill

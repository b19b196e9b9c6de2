#include "core/pipeline/cpu_quota.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include "core/pipeline/executor.h"

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

std::optional<int> Least(std::optional<int> a, std::optional<int> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The least quota from `mount`/`path` up to `mount`.
template <class Quota>
std::optional<int> LeastUpward(const std::string& mount, std::string path,
                               Quota quota) {
  std::optional<int> least = quota(mount);
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

std::optional<int> CgroupCpus(const std::string& proc_cgroup,
                              const std::string& root) {
  std::optional<int> least;
  std::istringstream in(proc_cgroup);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = Least(least, LeastUpward(root, path, QuotaV2));
    } else if (HasController(controllers, "cpu")) {
      for (const char* mount : {"/cpu", "/cpu,cpuacct"}) {
        least = Least(least, LeastUpward(root + mount, path, QuotaV1));
      }
    }
  }
  return least;
}

int AvailableCpus() {
  std::ifstream in("/proc/self/cgroup");
  std::ostringstream text;
  text << in.rdbuf();
  const int quota = CgroupCpus(text.str(), "/sys/fs/cgroup").value_or(kCpusMax);
  return std::min(quota, AffinityCpus());
}

}  // namespace feedmill

#include "core/net/process_limits.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "core/base/check.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

// glibc refuses a larger threshold for mapping blocks, silently.
constexpr int kMapThresholdMax = 32 << 20;
constexpr int kKeptFree = 1 << 30;
constexpr rlim_t kFilesWanted = 65'536;
constexpr rlim_t kFilesFew = 1'024;

}  // namespace

void TuneMalloc() {
  static std::once_flag once;
  std::call_once(once, [] {
    FM_CHECK(mallopt(M_MMAP_THRESHOLD, kMapThresholdMax) == 1);
    FM_CHECK(mallopt(M_TRIM_THRESHOLD, kKeptFree) == 1);
  });
}

void RaiseFileLimit() {
  static std::once_flag once;
  std::call_once(once, [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t wanted = std::min(limit.rlim_max, kFilesWanted);
    if (limit.rlim_cur < wanted) {
      limit.rlim_cur = wanted;
      setrlimit(RLIMIT_NOFILE, &limit);
      getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < kFilesFew) {
      LogWarning(
          "only {} file descriptors are allowed: each peer needs one, and a "
          "server without any stops serving; raise it (ulimit -n {})",
          limit.rlim_cur, kFilesWanted);
    }
  });
}

}  // namespace feedmill

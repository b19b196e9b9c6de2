#include "core/net/process_limits.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "core/base/status.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

// glibc silently refuses a larger threshold for mapped blocks.
constexpr int kMapThresholdMax = 32 << 20;
constexpr int kKeptFree = 1 << 30;
constexpr rlim_t kFilesWanted = 65'536;
constexpr rlim_t kFilesFew = 1'024;
constexpr rlim_t kFilesLeast = 128;
constexpr size_t kFilesKept = 64;

}  // namespace

void TuneMalloc() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Another malloc, e.g. a sanitizer's, may ignore both.
    mallopt(M_MMAP_THRESHOLD, kMapThresholdMax);
    mallopt(M_TRIM_THRESHOLD, kKeptFree);
  });
}

absl::Status RaiseFileLimit() {
  static const rlim_t allowed = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFilesWanted;
    const rlim_t wanted = std::min(limit.rlim_max, kFilesWanted);
    if (limit.rlim_cur < wanted) {
      limit.rlim_cur = wanted;
      setrlimit(RLIMIT_NOFILE, &limit);
      getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < kFilesFew) {
      LogWarning(
          "only {} file descriptors are allowed, and each peer needs one; "
          "raise the limit (ulimit -n {})",
          limit.rlim_cur, kFilesWanted);
    }
    return limit.rlim_cur;
  }();
  if (allowed >= kFilesLeast) return absl::OkStatus();
  return ResourceExhausted(
      "only {} file descriptors are allowed; a server needs {} to start and "
      "one "
      "more for each peer: raise the limit (ulimit -n {})",
      allowed, kFilesLeast, kFilesWanted);
}

size_t ConnectionsMax() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFilesFew;
  const size_t files =
      static_cast<size_t>(std::min(limit.rlim_cur, kFilesWanted));
  const size_t kept = std::max(kFilesKept, files / 8);
  return files > 2 * kept ? files - kept : kept;
}

}  // namespace feedmill

#include "core/pipeline/cache_storage.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/base/status.h"

namespace feedmill {

void CacheStorage::Warn(const std::string& path, const std::string& what) {
  uint64_t left_out = 0;
  {
    const std::lock_guard lock(warning_mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(now - counted_);
    if (seconds.count() > 0) {
      counted_ = now;
      warnings_left_ = static_cast<int>(
          std::min<int64_t>(kWarningsAtOnce, warnings_left_ + seconds.count()));
    }
    if (warnings_left_ == 0) {
      ++warnings_left_out_;
      return;
    }
    --warnings_left_;
    left_out = std::exchange(warnings_left_out_, 0);
  }
  std::string line = fmt::format(
      "feedmill: cache {}: {}; its elements are made again", path, what);
  if (left_out > 0) line += fmt::format(" (and {} more such lines)", left_out);
  line += '\n';
  std::fputs(line.c_str(), stderr);
}

}  // namespace feedmill

#include "core/net/log_throttle.h"

#include <algorithm>

namespace feedmill {

LogThrottle::Answer LogThrottle::Ask(absl::Time now, const std::string& key,
                                     uint32_t burst) {
  auto found = windows_.find(key);
  if (found == windows_.end()) {
    MakeRoom();
    found = windows_.emplace(key, Window{.begun = now}).first;
  }
  Window& window = found->second;
  Answer answer;
  if (now - window.begun >= window.interval) {
    answer.left_out = window.left_out;
    answer.within = now - window.begun;
    const bool goes_on = now - window.begun < 2 * window.interval;
    const absl::Duration next =
        window.left_out > 0 && goes_on
            ? std::min(2 * window.interval, kMaxInterval)
            : kFirstInterval;
    window = Window{.begun = now, .interval = next};
  }
  answer.say = window.logged < burst;
  if (answer.say) {
    ++window.logged;
  } else {
    ++window.left_out;
  }
  return answer;
}

std::vector<LogThrottle::SuppressedLines> LogThrottle::TakeSuppressed(
    absl::Time now) {
  std::vector<SuppressedLines> ended;
  for (auto& [key, window] : windows_) {
    if (window.left_out == 0 || now - window.begun < window.interval) continue;
    ended.push_back({key, window.left_out, now - window.begun});
    window = Window{.begun = now,
                    .interval = std::min(2 * window.interval, kMaxInterval)};
  }
  return ended;
}

void LogThrottle::MakeRoom() {
  if (windows_.size() < kKeysMax) return;
  const auto oldest = std::min_element(windows_.begin(), windows_.end(),
                                       [](const auto& a, const auto& b) {
                                         return a.second.begun < b.second.begun;
                                       });
  windows_.erase(oldest);
}

}  // namespace feedmill

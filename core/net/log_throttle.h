#ifndef FEEDMILL_CORE_NET_LOG_THROTTLE_H_
#define FEEDMILL_CORE_NET_LOG_THROTTLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace feedmill {

// Limits the log lines of each key to `burst` per interval. The interval is 10
// s at first and doubles while lines are suppressed, up to 10 minutes.
// Suppressed lines are counted. Pure. Thread-compatible.
class LogThrottle {
 public:
  struct Answer {
    bool say = true;
    uint64_t left_out = 0;    // suppressed since the key's last line
    absl::Duration within{};  // length of the interval of these lines
  };
  Answer Ask(absl::Time now, const std::string& key, uint32_t burst);

  // Returns and resets the keys whose interval has ended with suppressed lines.
  struct SuppressedLines {
    std::string key;
    uint64_t lines = 0;
    absl::Duration within{};
  };
  std::vector<SuppressedLines> TakeSuppressed(absl::Time now);

  static constexpr size_t kKeysMax = 256;  // the oldest is forgotten first
  static constexpr absl::Duration kFirstInterval = absl::Seconds(10);
  static constexpr absl::Duration kMaxInterval = absl::Minutes(10);

 private:
  struct Window {
    absl::Time begun;
    absl::Duration interval = kFirstInterval;
    uint32_t logged = 0;
    uint64_t left_out = 0;
  };
  void MakeRoom();

  std::map<std::string, Window> windows_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_LOG_THROTTLE_H_

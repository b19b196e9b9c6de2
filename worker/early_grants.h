#ifndef FEEDMILL_WORKER_EARLY_GRANTS_H_
#define FEEDMILL_WORKER_EARLY_GRANTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// Grants that arrive before their lease. The client would repeat them only with
// its next heartbeat. Bounded. Pure.
class EarlyGrants {
 public:
  struct Early {
    PeerId from;
    Grant grant;
    absl::Time received;
  };

  // If there are too many grants, those older than `too_old` are dropped.
  void Keep(absl::Time now, const PeerId& from, const Grant& grant,
            absl::Duration too_old) {
    if (grants_.size() >= kGrantsMax) {
      std::erase_if(grants_, [&](const auto& entry) {
        return now - entry.second.received > too_old;
      });
    }
    const auto found = grants_.find(grant.split);
    if (found == grants_.end()) {
      if (grants_.size() >= kGrantsMax) return;
      grants_.emplace(grant.split, Early{from, grant, now});
    } else if (found->second.grant.opening <= grant.opening) {
      found->second = Early{from, grant, now};
    }
  }
  // Removes and returns the split's grant.
  std::optional<Early> Take(const SplitId& split) {
    const auto found = grants_.find(split);
    if (found == grants_.end()) return std::nullopt;
    Early early = std::move(found->second);
    grants_.erase(found);
    return early;
  }
  void Clear() { grants_.clear(); }

 private:
  static constexpr size_t kGrantsMax = 256;
  std::map<SplitId, Early> grants_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_EARLY_GRANTS_H_

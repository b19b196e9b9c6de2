#ifndef FEEDMILL_TESTS_SIM_NETWORK_H_
#define FEEDMILL_TESTS_SIM_NETWORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/wire/message.h"
#include "tests/sim/random.h"

namespace feedmill::sim {

// A virtual clock with scheduled events. One thread. Events of equal time
// happen in the order of their scheduling.
class Timeline {
 public:
  absl::Time now() const { return now_; }
  void At(absl::Time when, std::function<void()> action);
  void After(absl::Duration delay, std::function<void()> action) {
    At(now_ + delay, std::move(action));
  }
  // Advances to the next event and runs it; false if there is none.
  bool Step();

 private:
  struct Entry {
    absl::Time when;
    uint64_t order = 0;
    std::function<void()> action;
    bool operator<(const Entry& other) const {
      return std::pair(other.when, other.order) < std::pair(when, order);
    }
  };
  absl::Time now_ = absl::UnixEpoch();
  uint64_t order_ = 0;
  std::priority_queue<Entry> entries_;
};

// Connections between named processes. Each direction is an ordered queue with
// delays. A connection can break (its messages are lost or, at a ROUTER, arrive
// late and out of order), stall or duplicate messages.
class Network {
 public:
  struct Faults {
    absl::Duration delay_max;
    bool duplicates = false;
  };
  struct Totals {
    uint64_t delivered = 0;
    uint64_t lost = 0;
    uint64_t duplicated = 0;
    uint64_t reordered = 0;
  };
  // Delivers a message to a process. If the process cannot take it now (frozen
  // or dead), returns the time for a new attempt.
  using Deliver = std::function<std::optional<absl::Time>(
      const std::string& from, const std::string& to, const Message& message)>;

  Network(Timeline& timeline, Random& random, Faults faults, Deliver deliver)
      : timeline_(timeline),
        random_(random),
        faults_(faults),
        deliver_(std::move(deliver)) {}

  void Send(const std::string& from, const std::string& to, Message message);
  // Breaks the connection between two processes; it is restored at once.
  void Break(const std::string& a, const std::string& b);
  // Returns a random used connection; empty names if there is none.
  std::pair<std::string, std::string> AnyLink();
  // Blocks a connection until then. If `lose`, messages sent meanwhile are lost
  // at the end.
  void Partition(const std::string& a, const std::string& b, absl::Time until,
                 bool lose);
  // A process died: each of its connections may lose its messages.
  void Cut(const std::string& name);
  // Ends all partitions and duplicates.
  void Heal();

  const Totals& totals() const { return totals_; }
  // Maximum number of messages in one direction of a connection.
  size_t depth_max() const { return depth_max_; }

 private:
  struct InFlight {
    absl::Time arrives;
    Message message;
  };
  struct Link {
    std::deque<InFlight> queue;
    bool busy = false;  // an event for its front is scheduled
    absl::Time until;   // end of a partition
  };
  using Ends = std::pair<std::string, std::string>;

  void Clear(Link& link);
  void Schedule(const Ends& ends, Link& link, absl::Time when);
  void DeliverFront(const Ends& ends);
  void Stray(const Ends& ends, Message message);

  Timeline& timeline_;
  Random& random_;
  Faults faults_;
  const Deliver deliver_;
  std::map<Ends, Link> links_;
  Totals totals_;
  size_t depth_max_ = 0;
};

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_NETWORK_H_

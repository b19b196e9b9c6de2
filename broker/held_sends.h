#ifndef FEEDMILL_BROKER_HELD_SENDS_H_
#define FEEDMILL_BROKER_HELD_SENDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

// Messages and answers of operators that wait until the events that they
// follow from are on disk. They leave in the order in which they came. Pure.
//
// A status reply passes messages to other peers: no peer acts on a status, and
// operators read it when the disk stands still.
class HeldSends {
 public:
  // Holds `sends` until event number `after` is on disk. REQUIRES: `after` is
  // not less than in any call before.
  void Hold(uint64_t after, std::vector<Outgoing> sends);
  // Holds the call of `answer` likewise.
  void Hold(uint64_t after, std::function<void()> answer);

  // Calls `send` for each message, and each held answer, of which all events
  // are on disk; `durable` is the number of the last such event.
  void Release(uint64_t durable,
               const std::function<void(const Outgoing&)>& send);
  // Drops all messages and answers.
  void Clear();

  // Number of held messages, and about the bytes of their content.
  size_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }

 private:
  struct HeldBatch {
    uint64_t after = 0;
    std::vector<Outgoing> sends{};
    std::function<void()> answer{};
    uint64_t bytes = 0;
  };

  bool Holds(const PeerId& peer) const;
  void LetPass(std::vector<Outgoing>& sends);

  std::deque<HeldBatch> batches_;
  std::vector<Outgoing> passing_;
  size_t count_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_HELD_SENDS_H_

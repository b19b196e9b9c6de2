#ifndef FEEDMILL_CORE_STORAGE_STATE_STORE_H_
#define FEEDMILL_CORE_STORAGE_STATE_STORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace feedmill {

// Where a state machine's events are kept: one sequence, appended to before
// anything that follows from it is said to others. Replaying it makes the state
// again.
//
// Thread-compatible; a store has one writer.
template <class Event>
class StateStore {
 public:
  virtual ~StateStore() = default;

  // Adds events at the end. OK only when they are as safe as this store keeps
  // anything: an event is safe only if all before it are.
  virtual absl::Status Append(std::span<const Event> events) = 0;
  // Events appended so far.
  virtual uint64_t sequence() const = 0;
};

// Keeps events as long as the process lives, and all of them: for simulations
// and tests of replay.
template <class Event>
class MemoryStateStore : public StateStore<Event> {
 public:
  absl::Status Append(std::span<const Event> events) override {
    events_.insert(events_.end(), events.begin(), events.end());
    return absl::OkStatus();
  }
  const std::vector<Event>& events() const { return events_; }
  uint64_t sequence() const override { return events_.size(); }

 private:
  std::vector<Event> events_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_STATE_STORE_H_

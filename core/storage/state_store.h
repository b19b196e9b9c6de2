#ifndef FEEDMILL_CORE_STORAGE_STATE_STORE_H_
#define FEEDMILL_CORE_STORAGE_STATE_STORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace feedmill {

// Stores the events of a state machine as one sequence. An event is appended
// before any of its consequences is sent. Replaying the events restores the
// state.
//
// Thread-compatible; a store has one writer.
template <class Event>
class StateStore {
 public:
  virtual ~StateStore() = default;

  // Appends events. OK only when they are as durable as this store makes them.
  // An event is safe only if all before it are.
  virtual absl::Status Append(std::span<const Event> events) = 0;
  // Number of events appended so far.
  virtual uint64_t sequence() const = 0;
};

// Keeps all events in memory. For simulations and tests of replay.
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

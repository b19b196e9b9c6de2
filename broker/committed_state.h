#ifndef FEEDMILL_BROKER_COMMITTED_STATE_H_
#define FEEDMILL_BROKER_COMMITTED_STATE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "broker/dispatcher_state.h"
#include "core/wire/message.h"

namespace feedmill {

// The journaled state, which only Commit changes, and the events of the present
// call. Pure.
class CommittedState {
 public:
  explicit CommittedState(DispatcherState state)
      : state_(std::move(state)), synced_(state_.sequence) {}

  const DispatcherState& operator*() const { return state_; }
  const DispatcherState* operator->() const { return &state_; }

  // Applies the event and keeps it for the journal.
  void Commit(DispatcherEvent event);
  // Events since the last TakeEvents.
  const std::vector<DispatcherEvent>& events() const { return events_; }
  std::vector<DispatcherEvent> TakeEvents() {
    return std::exchange(events_, {});
  }

  // Call when the events up to this number are on disk.
  void NoteSynced(uint64_t sequence) { synced_ = std::max(synced_, sequence); }
  // The last event that is on disk when the messages of this call are sent.
  Seen seen() const { return {state_.journal, synced_}; }
  // Compares the last event that a peer has seen with the journal. If the
  // journal lacks that event, it must not grow: its new events and splits would
  // get numbers that peers know with another content.
  void Compare(const Seen& seen);
  // DataLoss if a peer has seen events of this journal that are not in it.
  const absl::Status& behind() const { return behind_; }

 private:
  DispatcherState state_;
  std::vector<DispatcherEvent> events_;
  uint64_t synced_;  // number of events on disk when the sends are sent
  absl::Status behind_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_COMMITTED_STATE_H_

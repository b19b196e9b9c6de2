#ifndef FEEDMILL_BROKER_STATE_JOURNAL_H_
#define FEEDMILL_BROKER_STATE_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "broker/dispatcher_state.h"
#include "core/storage/journal.h"
#include "core/storage/state_store.h"

namespace feedmill {

// The dispatcher's events in a work-dir, and the state that they lead to.
// Thread-compatible.
class StateJournal : public StateStore<DispatcherEvent> {
 public:
  // Takes the folder, makes the journal if there is none and replays it; errors
  // as Journal::Open gives them. InvalidArgument: `work_dir` is a URL.
  static absl::StatusOr<std::unique_ptr<StateJournal>> Open(
      const std::string& work_dir);

  // Once: the state that was found.
  DispatcherState TakeState() { return std::move(state_); }

  absl::Status Append(std::span<const DispatcherEvent> events) override;
  uint64_t sequence() const override { return journal_->sequence(); }

  // Replaces the events by `state` if that pays, or the last snapshot if that
  // is many times what is left. REQUIRES: they lead to it;
  // DataLoss, and nothing is changed, if its bytes do not.
  absl::Status CompactIfWorthwhile(const DispatcherState& state);
  // See Journal.
  absl::Status SayAddress(const std::string& address) {
    return journal_->SayAddress(address);
  }

 private:
  explicit StateJournal(std::unique_ptr<Journal> journal)
      : journal_(std::move(journal)) {}
  absl::Status Replay();

  const std::unique_ptr<Journal> journal_;
  size_t snapshot_splits_ = 0;  // in the last one
  DispatcherState state_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_STATE_JOURNAL_H_

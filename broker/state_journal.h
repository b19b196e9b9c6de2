#ifndef FEEDMILL_BROKER_STATE_JOURNAL_H_
#define FEEDMILL_BROKER_STATE_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/dispatcher_state.h"
#include "core/storage/journal.h"

namespace feedmill {

// Stores the dispatcher's events as one sequence; replaying them restores the
// state. An event is appended before any of its consequences is sent. Has one
// writer.
class DispatcherStore {
 public:
  virtual ~DispatcherStore() = default;
  // Appends events. OK only when they are as durable as this store makes them.
  // An event is safe only if all before it are.
  virtual absl::Status Append(std::span<const DispatcherEvent> events) = 0;
  // Number of events appended so far.
  virtual uint64_t sequence() const = 0;
  // True if a snapshot of a state with this number of splits saves enough.
  virtual bool WorthCompacting(size_t splits) const = 0;
  // Replaces the events by a snapshot of `state`. REQUIRES: the events lead to
  // `state`.
  virtual absl::Status Compact(const DispatcherState& state) = 0;
  // True if Tick is to be called before each write, and each second. It returns
  // the error that Append would return.
  virtual bool ticks() const { return false; }
  virtual absl::Status Tick() { return absl::OkStatus(); }
  // The dispatchers that wait for this one to be gone, as of the last Tick.
  virtual Standbys standbys() const {
    return std::make_shared<const std::vector<Standby>>();
  }
  // For how long from now no other dispatcher can have begun to lead.
  virtual absl::Duration certain_for() const {
    return absl::InfiniteDuration();
  }
};

// Keeps the dispatcher's events in a work-dir, and replays them into the state.
// The work-dir is a folder, "s3://bucket/folder", or
// "postgresql://host/database".
// Thread-compatible.
class StateJournal : public DispatcherStore {
 public:
  // Locks the folder, creates the journal if there is none and replays it.
  // Returns the errors of FolderJournal::Open or ObjectJournal::Open.
  // InvalidArgument: `work_dir` is another URL. `standby`: waits for another
  // dispatcher to be gone, until stop() returns true.
  static absl::StatusOr<std::unique_ptr<StateJournal>> Open(
      const std::string& work_dir, bool standby = false,
      std::function<bool()> stop = [] { return false; });

  // Opens a place that has state. NotFound: it has none.
  static absl::StatusOr<std::unique_ptr<StateJournal>> OpenExisting(
      const std::string& work_dir);

  // Returns the replayed state. Call once.
  DispatcherState TakeState() { return std::move(replayed_.state); }

  absl::Status Append(std::span<const DispatcherEvent> events) override;
  uint64_t sequence() const override { return journal_->sequence(); }

  // True if the events are large compared to the last snapshot, or if the last
  // snapshot has more than four times as many splits.
  bool WorthCompacting(size_t splits) const override;
  // DataLoss if the snapshot does not decode to `state`, or if the journal is
  // at another event; the journal is then unchanged.
  absl::Status Compact(const DispatcherState& state) override;
  // See Journal.
  bool ticks() const override { return journal_->ticks(); }
  absl::Status Tick() override { return journal_->Tick(); }
  Standbys standbys() const override { return journal_->standbys(); }
  absl::Duration certain_for() const override {
    return journal_->certain_for();
  }
  uint64_t term() const { return journal_->term(); }
  absl::Status SayAddress(const std::string& address) {
    return journal_->SayAddress(address);
  }

 private:
  // The state to which the events lead that were read until now.
  struct Replayed {
    DispatcherState state;
    size_t snapshot_splits = 0;  // number of splits in the last snapshot

    absl::Status Add(const Journal& journal);
  };

  StateJournal(std::unique_ptr<Journal> journal, Replayed replayed)
      : journal_(std::move(journal)), replayed_(std::move(replayed)) {}

  friend absl::Status CopyState(const std::string& from, const std::string& to);

  const std::unique_ptr<Journal> journal_;
  Replayed replayed_;
};

// Copies the state of a work-dir to one that has none, and reads the copy.
// FailedPrecondition: a dispatcher leads one of them, or `to` has state.
// NotFound: `from` has none.
absl::Status CopyState(const std::string& from, const std::string& to);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_STATE_JOURNAL_H_

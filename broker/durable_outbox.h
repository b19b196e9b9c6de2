#ifndef FEEDMILL_BROKER_DURABLE_OUTBOX_H_
#define FEEDMILL_BROKER_DURABLE_OUTBOX_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher.h"
#include "broker/held_sends.h"
#include "broker/journal_thread.h"

namespace feedmill {

// Hands the dispatcher's events to the journal. Holds its messages and answers
// until the events that they follow from are on disk. Holds them, too, while
// another dispatcher may lead. Without a journal, they leave at once.
//
// On a fast disk, the events of a turn are synced in the turn. On a slow disk
// the dispatcher continues meanwhile. It waits only if the memory for what
// waits is used up.
//
// Thread-safety: one thread, which owns the dispatcher and the journal.
class DurableOutbox {
 public:
  using Send = std::function<void(const Outgoing&)>;

  // `journal`: null if the state is in memory only. `dispatcher` must outlive
  // this object.
  DurableOutbox(Dispatcher& dispatcher, std::unique_ptr<JournalThread> journal,
                Send send);

  // Adds the events and messages of a call of the dispatcher; takes them out of
  // `effects`.
  void Add(DispatcherEffects& effects);
  // Adds the answer to an operator. It waits for all events of this turn.
  void Add(std::function<void()> answer);

  // Takes the progress of the journal, and reports it to the dispatcher.
  // Returns the error of the first write that failed.
  absl::Status TakeProgress();
  // Ends a turn: hands events over, and sends the messages that may leave.
  // Returns an error as TakeProgress does.
  absl::Status Settle(absl::Time now);
  // Time of the next necessary Settle().
  absl::Time NextDeadline() const { return sync_by_; }

  // Writes all events, frees the journal, and drops all messages: no peer gets
  // an answer any more, but the next dispatcher continues from the events.
  void Close();
  // Drops all events and messages.
  void Discard();

  // Statistics. Progress of the journal so far; zero without one.
  const JournalThread::Progress& progress() const { return progress_; }
  bool has_journal() const { return journal_ != nullptr; }
  // Time that the journal's thread worked, and that this thread waited for it.
  absl::Duration journal_worked() const;
  absl::Duration waited() const { return waited_; }

 private:
  absl::Status HandOver();
  void WaitFor(const std::function<void()>& wait);
  void SendDurable(absl::Time now);
  bool TooMuchWaits() const;

  Dispatcher& dispatcher_;
  std::unique_ptr<JournalThread> journal_;
  const Send send_;
  std::vector<DispatcherEvent> unsynced_;       // not handed over yet
  std::vector<Outgoing> unsent_;                // of this turn
  std::vector<std::function<void()>> answers_;  // of this turn
  HeldSends held_;
  uint64_t after_ = 0;  // last event on which the messages of this turn depend
  bool must_sync_ = false;
  absl::Time sync_by_ = absl::InfiniteFuture();
  JournalThread::Progress progress_;
  absl::Duration waited_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DURABLE_OUTBOX_H_

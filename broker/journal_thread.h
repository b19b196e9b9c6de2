#ifndef FEEDMILL_BROKER_JOURNAL_THREAD_H_
#define FEEDMILL_BROKER_JOURNAL_THREAD_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_state.h"
#include "broker/state_journal.h"
#include "core/net/clock.h"

namespace feedmill {

// Writes the dispatcher's events to a store on a thread of its own, in order.
// Events that come while the store writes are written together afterwards. So
// an event waits for two writes at most, and the dispatcher for none.
//
// While all writes are fast, Append writes on the owner's thread: waking
// another thread would cost more than the write. The first slow write ends
// this. Then a number of fast writes must follow on the thread of the journal.
//
// Thread-safety: Append, Compact, TakeProgress and the waits from one thread;
// it is called the owner.
class JournalThread {
 public:
  // `progressed`: called on the thread of the journal when there is progress to
  // take and the owner does not wait for it. It must not block.
  JournalThread(std::unique_ptr<DispatcherStore> store,
                std::function<void()> progressed,
                std::function<absl::Time()> clock = SteadyNow);
  // Writes what was handed over, and ends the thread.
  ~JournalThread();
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // Hands events over. `splits`: number of splits of the state after them.
  void Append(std::vector<DispatcherEvent> events, size_t splits);
  // Has the store replace all events that were handed over by `state`, which
  // they lead to.
  void Compact(std::unique_ptr<const DispatcherState> state);

  struct Progress {
    // The error of the first write that failed. No later event is written.
    absl::Status status;
    uint64_t sequence = 0;      // number of the last event that is on disk
    uint64_t syncs = 0;         // since the beginning
    absl::Duration sync_time;   // of all syncs
    absl::Duration last_sync;   // without the wait for the sync before it
    absl::Duration last_delay;  // with it: from the hand-over to the disk
    // The longest write since progress was taken last, with its compaction.
    absl::Duration longest;
    bool worth_compacting = false;  // and no Compact was called since
    // No other dispatcher leads before then, so messages may leave until then.
    absl::Time leads_until = absl::InfiniteFuture();
    Standbys standbys = std::make_shared<const std::vector<Standby>>();
  };
  Progress TakeProgress();
  // Time that the thread spent with the store so far.
  absl::Duration Worked() const;
  // Number of events that are not on disk yet, and about their bytes.
  uint64_t waiting_events() const;
  uint64_t waiting_bytes() const;

  // Wait until all that was handed over is written, at most for `timeout`, or
  // until the next write has ended. Both return at once after a failure.
  void WaitIdle(absl::Duration timeout);
  void WaitForProgress();

 private:
  // The events, and perhaps the snapshot after them, of one write.
  struct Group {
    std::vector<DispatcherEvent> events{};
    size_t splits = 0;
    uint64_t bytes = 0;
    absl::Time since;  // its first event was handed over
    std::unique_ptr<const DispatcherState> snapshot{};  // after the events
  };

  void Run();
  bool AwaitWork(std::unique_lock<std::mutex>& lock);
  bool OwnerWrites(size_t events);
  void Write(const Group& group);
  void NoteSynced(const Group& group, absl::Time begun);
  void NoteWritten(const Group& group, absl::Time begun, absl::Status status);
  void Tell();
  Group& Last();
  bool Idle() const { return queue_.empty() && !writing_; }

  const std::unique_ptr<DispatcherStore> store_;  // of the thread that writes
  const std::function<void()> progressed_;
  const std::function<absl::Time()> clock_;

  mutable std::mutex mu_;  // guards all below
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Group> queue_;
  bool ends_ = false;
  bool writing_ = false;
  bool owner_waits_ = false;
  bool compacting_ = false;  // a snapshot is wanted, queued or being written
  uint64_t waiting_events_ = 0;
  uint64_t waiting_bytes_ = 0;
  uint64_t writes_ = 0;
  int trust_ = 0;     // in the disk; grows with each fast write
  absl::Time begun_;  // the present write
  absl::Duration worked_;
  Progress progress_;

  std::thread thread_;  // last: it uses the others
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_JOURNAL_THREAD_H_

#ifndef FEEDMILL_WORKER_OUTGOING_STREAM_H_
#define FEEDMILL_WORKER_OUTGOING_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/shared_results.h"

namespace feedmill {

// An attempt at a split as a client opened it: the pieces to compute and to
// send. It consists of contiguous segments, from the next element to send up to
// the frontier. A segment is wanted (no task, no piece), running (a task) or
// ready (a piece). Streams of several ranks may wait for one task and share one
// piece. Pure.
class OutgoingStream {
 public:
  // Terms of the client's last grant.
  struct Terms {
    bool head = false;
    LinkCompression compression = LinkCompression::kNone;
    bool checksums = false;
    uint32_t weight = kDefaultWeight;  // of its reader
    bool profile = false;
    // bytes per second, reported by its reader; 0: unknown
    uint64_t link_rate = 0;
    absl::Time granted;  // the last grant
    // A generator's state that the next task is given, or null.
    GeneratorStatePtr state{};
  };
  // The first part of a stream that no task computes.
  struct Gap {
    Cursor begin;
    Cursor limit;
    bool at_frontier = false;  // false: a wanted segment
  };

  // Begins at `start`. `lease_end`: end of the stream's lease.
  OutgoingStream(Cursor start, Cursor lease_end)
      : next_(start), frontier_(start), stop_(lease_end) {}

  // Sends to `to` from `start` on, with no credit. Computed pieces at or after
  // `start` are kept.
  void Open(const PeerId& to, Opening opening, Cursor start, Cursor lease_end);
  const PeerId& to() const { return to_; }
  Opening opening() const { return opening_; }

  // ---- credit
  uint64_t sent() const { return sent_; }
  uint64_t total() const { return total_; }
  void SetTotal(uint64_t bytes) { total_ = bytes; }
  // True if the next piece is ready and the credit does not allow it. Only a
  // head may overdraw, by one piece. Pieces without elements cost nothing and
  // always pass (rules 13, 14).
  bool WaitsForCredit() const;
  // Bytes of the next piece. REQUIRES: NextIsReady().
  uint64_t NextBytes() const { return segments_.begin()->second.bytes(); }
  // Removes the next piece, as sent. Null if it is not ready or waits for
  // credit.
  BufferedPiecePtr TakeNext();
  Cursor next() const { return next_; }
  // True if all of the stream was sent.
  bool AllSent() const { return next_ >= stop_; }

  // ---- segments
  bool empty() const { return segments_.empty(); }
  // True if a part of the stream is neither computed nor being computed.
  bool Wants() const;
  // True if the piece that is sent next is wanted; false if it is ready.
  bool WantsNext() const;
  bool NextIsReady() const;
  // True if all pieces up to the stream's end are ready or sent.
  bool Complete() const;
  // True for a head that has credit, but has nothing to send and computes
  // nothing.
  bool Starved() const;
  size_t RunningTasks() const;
  // Bytes sent, ready, and of running tasks of `task_bytes` each.
  uint64_t BytesWithTasks(uint64_t task_bytes) const;

  // Everything before it has a piece or a task, apart from holes.
  Cursor frontier() const { return frontier_; }
  // REQUIRES: Wants().
  Gap FirstGap() const;
  // Makes the gap, up to `end`, a segment that waits for the task, or that has
  // its piece.
  void Fill(const Gap& gap, Cursor end, TaskId task,
            BufferedPiecePtr made = nullptr);
  // True if a segment waits for the task. A stream that was dropped and
  // reopened has other tasks.
  bool Awaits(TaskId task) const;
  // Stores the task's piece in the segment that waits for it. False if the
  // piece ends before that segment: another rank's task stopped there.
  // REQUIRES: Awaits(task).
  bool Store(TaskId task, BufferedPiecePtr made);
  // Drops ready pieces from the far end until enough() returns true. They are
  // computed again.
  void GiveUp(Cursor lease_end, const std::function<bool()>& enough);

  Terms terms;

 private:
  struct Segment {
    Cursor end;
    TaskId task{};  // 0: none
    BufferedPiecePtr made{};
    uint64_t bytes() const { return made == nullptr ? 0 : made->bytes; }
    bool wanted() const { return task == TaskId() && made == nullptr; }
  };
  using Segments = std::map<Cursor, Segment>;  // by their begin

  void MoveTo(Cursor start);
  void Store(Segments::iterator segment, BufferedPiecePtr made);
  void DropFrom(Cursor cursor);

  PeerId to_;
  Opening opening_;
  Cursor next_;      // to send
  Cursor frontier_;  // end of the last segment
  Cursor stop_;      // end of the lease, or of the data if there is an error
  uint64_t sent_ = 0;
  uint64_t total_ = 0;
  Segments segments_;
};

// A lease of a worker, and the stream that its client has opened.
struct LeasedSplit {
  Lease lease;
  std::optional<OutgoingStream> stream{};
  absl::Status failure{};  // not OK: reported until the lease ends
  absl::Time leased{};
  bool begun = false;      // a task was started
  uint64_t announced = 0;  // positions before it were announced
  // Sequenced plans: bytes of elements for the reader since it got a state.
  uint64_t bytes_since_state = 0;

  // True if the client has sent a grant within `park_after`.
  bool Granted(absl::Time now, absl::Duration park_after) const {
    return stream && now - stream->terms.granted <= park_after;
  }
  void Fail(absl::Status status) {
    stream.reset();
    failure = std::move(status);
  }
};
using LeasedSplits = std::map<SplitId, LeasedSplit>;

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_OUTGOING_STREAM_H_

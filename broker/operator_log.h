#ifndef FEEDMILL_BROKER_OPERATOR_LOG_H_
#define FEEDMILL_BROKER_OPERATOR_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_snapshot.h"
#include "broker/dispatcher_state.h"
#include "broker/event_ring.h"
#include "broker/lease_table.h"
#include "core/wire/message.h"

namespace feedmill {

// A line for the operators' log, e.g. a worker joined or a job ended. Each note
// is also an event of the status. The shell limits the log rate of each kind.
struct DispatcherNote {
  using Kind = NoteKind;
  Kind kind = Kind::kJob;
  bool warning = false;
  std::string text;
  std::string job{};
  std::string worker{};
  std::vector<std::string> records{};  // elements that were left out
  bool logged = true;                  // false: an event only
};

// Writes notes about workers, readers and jobs, and counts faults. No decision
// of the dispatcher depends on it. Pure.
class OperatorLog {
 public:
  // ---- workers; `workers`: their number, with this one
  void WorkerJoined(const WorkerBeat& beat, size_t workers);
  // `died`: it did not drain, and its process ended.
  void WorkerLost(const WorkerId& id, const KnownWorker& worker, bool died,
                  const std::string& why, size_t workers);
  void WorkerDrains(const WorkerId& id, const KnownWorker& worker);
  void WorkerWorksAgain(const WorkerId& id);
  void WorkerSetAside(const WorkerId& id, const KnownWorker& worker);
  // The worker could not write `count` more caches.
  void CachesFailed(const WorkerId& id, uint64_t count,
                    const std::string& first);
  void OperatorDrains(const WorkerId& id, bool drains);
  void ScaleChanged(std::string text);
  // Writing the journal took long, and no peer got an answer meanwhile.
  void JournalWasSlow(absl::Duration took);

  // ---- jobs
  void JobBegan(const JobState& job);
  void JobEnded(const JobState& job);
  void ElementsSkipped(const JobName& job, uint64_t elements, uint64_t all,
                       std::vector<std::string> records);
  // A position that kills workers is skipped.
  void PositionSkipped(const JobName& job, std::string_view position,
                       std::string why);

  // ---- readers
  void SessionReleased(const SessionKey& key, absl::Duration silent);
  void SessionRefused(const ClientHello& hello, const absl::Status& why);
  // The reader sends to the worker, and the worker accepts nothing.
  void WorkerUnreachable(const SessionKey& key, const WorkerId& worker);
  // `why`: OK if it is not known.
  void SessionFenced(const JobName& job, const Session& session,
                     const absl::Status& why);

  // ---- attempts
  // `last`: the split was tried as often as it may be. `split`: null if it is
  // not known any more.
  void AttemptFailed(const WorkerId& worker, const LeaseFailure& failure,
                     const SplitState* split, bool last);
  void SecondAttempt(const SessionKey& key, const WorkerId& slow,
                     absl::Duration stood);
  void SplitFailed() { ++faults_.splits_failed; }

  // Keeps the notes of the present call as events. Returns the notes for the
  // log.
  std::vector<DispatcherNote> TakeNotes(absl::Time now);
  const EventRing& events() const { return events_; }
  const DispatcherFaults& faults() const { return faults_; }

 private:
  void ReaderNote(const JobName& job, std::string text);

  std::vector<DispatcherNote> notes_;
  EventRing events_;
  DispatcherFaults faults_;
  // Workers that were lost, with their last life. The log names a worker that
  // comes back as such. The oldest entries are dropped first.
  std::map<WorkerId, Incarnation> lost_;
  std::deque<WorkerId> lost_order_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_OPERATOR_LOG_H_

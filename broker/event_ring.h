#ifndef FEEDMILL_BROKER_EVENT_RING_H_
#define FEEDMILL_BROKER_EVENT_RING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"

// Keeps the last events of a service for operators. Pure.

namespace feedmill {

enum class NoteKind : uint8_t {
  kWorkerJoined,
  kWorkerLost,
  kWorkerDrains,
  kJob,       // a job began or ended
  kReader,    // a reader was refused, replaced or silent
  kAttempt,   // an attempt at a split failed
  kRetry,     // a split was given to a second worker
  kSkipped,   // elements were left out (on_error)
  kOperator,  // an operator asked for something
  kScale,     // the wanted number of workers changed
  kAside,     // a worker gets no splits, because they fail on it
  kCache,     // a worker could not write a cache
  kJournal,   // a write of the journal took long
};
// Returns "worker joined", "worker lost", …
const char* NoteName(NoteKind kind);

// An event. `job` or `worker` is empty if the event concerns no job or worker.
struct OperatorEvent {
  uint64_t id = 0;  // 1, 2, … in order of the first occurrence
  absl::Time first{};
  absl::Time last{};
  uint64_t count = 1;  // occurrences from `first` to `last`
  NoteKind kind = NoteKind::kJob;
  bool warning = false;
  std::string text{};  // of the last occurrence
  std::string job{};
  std::string worker{};
  // Elements that were left out (kSkipped): file, record and error. The last
  // EventRing::kRecordsKept of them.
  std::vector<std::string> records{};
};

// Keeps the last kEventsKept warnings and, apart from them, the last
// kEventsKept other events. Many jobs that begin therefore do not push out the
// loss of a worker.
//
// Events of the kinds kAttempt, kRetry, kReader and kSkipped of one job and
// worker within kEventsTogether are merged into one event. It has the records
// of all of them.
class EventRing {
 public:
  void Add(absl::Time now, OperatorEvent event);
  // Returns the last `max` events, oldest first.
  std::vector<OperatorEvent> Last(size_t max) const;

  static constexpr size_t kEventsKept = 500;
  static constexpr absl::Duration kEventsTogether = absl::Seconds(10);
  static constexpr size_t kTextMax = 1'000;  // bytes of each text
  static constexpr size_t kRecordsKept = 8;  // of each event

 private:
  std::deque<OperatorEvent> warnings_;
  std::deque<OperatorEvent> others_;
  uint64_t last_id_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_EVENT_RING_H_

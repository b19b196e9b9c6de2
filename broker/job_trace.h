#ifndef FEEDMILL_BROKER_JOB_TRACE_H_
#define FEEDMILL_BROKER_JOB_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// The trace of a job, for operators: spans of the dispatcher and of the
// processes that send theirs, and how the processes' clocks differ. Bounded.
// Pure. docs/tracing.md describes the spans.
class JobTrace {
 public:
  static constexpr size_t kSpansMax = 100'000;  // kept at a time
  static constexpr size_t kReportMax = 10'000;  // spans of a report
  static constexpr size_t kProcessesMax = 4'096;

  // `grace`: time for the last spans to arrive after the end.
  JobTrace(uint64_t id, absl::Time begin, absl::Duration duration,
           absl::Duration grace);

  uint64_t id() const { return id_; }
  absl::Time end() const { return end_; }
  bool runs(absl::Time now) const { return now < end_ + grace_; }
  absl::Time asked() const { return asked_; }

  // A process that the trace knows by name; another life of it is another one.
  using Process = std::pair<std::string, Incarnation>;
  static std::string WorkerProcess(const WorkerId& worker);
  // A split was bound to a reader.
  void NoteBound(absl::Time now, const SplitId& split, Cursor from, Cursor to);
  // The leases of a split changed. `waits`: it still wants a lease.
  void NoteLeases(absl::Time now, const SplitId& split, Cursor from, Cursor to,
                  const std::vector<LeaseRef>& leases, bool waits);
  // Forgets a split that has ended.
  void NoteOver(absl::Time now, const SplitId& split) {
    NoteLeases(now, split, {}, {}, {}, false);
  }
  // Splits that have not ended, as far as it is known.
  std::vector<SplitId> open() const;
  // True at the first call after the trace has stopped. Ends the spans that are
  // open.
  bool TakeEnd(absl::Time now);

  // Adds the spans that a process sent. Spans that came before are left out.
  void Add(absl::Time now, const Process& process, const SpanBatch& batch);

  // Returns the spans from number `from` on and forgets earlier ones.
  TraceReport Report(absl::Time now, uint64_t from);

 private:
  struct OpenSplit {
    Cursor from;
    Cursor to;
    absl::Time bound;
    bool planned = true;  // waits for a lease since `bound`
    std::map<LeaseRef, absl::Time> leases{};
  };
  struct KnownProcess {
    uint32_t index = 0;
    uint64_t next = 0;  // number of its next span
    uint64_t lost = 0;
    // Upper bounds of (dispatcher's clock - its clock) and of the opposite.
    absl::Duration up = absl::InfiniteDuration();
    absl::Duration down = absl::InfiniteDuration();
  };

  KnownProcess* Find(const Process& process);
  void Keep(const TraceSpan& span);
  void KeepLeased(absl::Time until, const SplitId& split, const OpenSplit& open,
                  const LeaseRef& lease, absl::Time since);

  const uint64_t id_;
  const absl::Time begin_;
  const absl::Time end_;
  const absl::Duration grace_;
  absl::Time asked_;
  bool ended_ = false;
  std::map<SplitId, OpenSplit> open_;
  std::map<Process, KnownProcess> processes_;
  std::deque<TraceSpan> spans_;
  uint64_t first_ = 0;  // number of spans_.front()
  uint64_t lost_ = 0;   // spans without room
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_JOB_TRACE_H_

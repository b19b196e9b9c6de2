#ifndef FEEDMILL_BROKER_JOB_TRACES_H_
#define FEEDMILL_BROKER_JOB_TRACES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/job_trace.h"
#include "broker/job_verdicts.h"
#include "core/wire/message.h"

namespace feedmill {

// The traces of jobs, for operators: begins and ends them, adds the spans of
// the dispatcher and of its peers. No decision depends on them. Pure.
class JobTraces {
 public:
  // The references must outlive this object.
  JobTraces(DispatcherContext& context, const JobVerdicts& verdicts)
      : context_(context), verdicts_(verdicts) {}

  // True unless a job is traced.
  bool empty() const { return traces_.empty(); }
  // Answers a tool: begins a trace, or returns its next spans.
  TraceReport Answer(absl::Time now, const TraceRequest& request);
  // Ends traces whose time is over, and forgets traces that no tool asks for.
  void EndDue(absl::Time now);
  // Adds the changes of the present call. `changed`: splits whose leases
  // changed.
  void NoteChanges(absl::Time now, const std::vector<SplitId>& changed);
  void TakeSpans(absl::Time now, const SessionKey& key, Incarnation incarnation,
                 const SpanBatch& batch);
  void TakeSpans(absl::Time now, const WorkerBeat& beat);

  // Returns the id of the job's trace; 0 if the job is not traced now.
  uint64_t TraceOf(absl::Time now, const JobName& job) const;
  // Return the order for a worker, and for a reader of the job.
  std::optional<TraceOrder> OrderFor(absl::Time now) const;
  std::optional<TraceOrder> OrderFor(absl::Time now, const JobName& job) const;

 private:
  absl::Status Begin(absl::Time now, const TraceRequest& request);
  void NotifyPeers(const JobName& job);
  void NoteLeases(absl::Time now, JobTrace& trace, const SplitId& id);

  DispatcherContext& context_;
  const JobVerdicts& verdicts_;
  std::map<JobName, JobTrace> traces_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_JOB_TRACES_H_

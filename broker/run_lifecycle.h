#ifndef FEEDMILL_BROKER_RUN_LIFECYCLE_H_
#define FEEDMILL_BROKER_RUN_LIFECYCLE_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/manifest_requests.h"
#include "broker/pass_settler.h"
#include "broker/python_fleet.h"
#include "broker/split_binder.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Creates jobs, and begins, plans, ends and forgets their runs. Commits the
// events of a job's life and keeps the volatile data of its run (manifest
// request, plan, leases) in step with them. Pure.
class RunLifecycle {
 public:
  // The references must outlive this object.
  RunLifecycle(DispatcherContext& context, ManifestRequests& manifests,
               const PythonFleet& pythons, SplitBinder& binder,
               PassSettler& settler)
      : context_(context),
        manifests_(manifests),
        pythons_(pythons),
        binder_(binder),
        settler_(settler) {}

  // After a restart: creates the volatile data of a job of the journal.
  void Restore(const JobState& job);
  // Creates the job if it is missing, and starts the run that this reader
  // joins.
  absl::Status Prepare(const ClientHello& hello);
  // Plans the job's run, or has its files listed first. No effect on a run that
  // is planned.
  void PlanIfDue(absl::Time now, const JobName& job);
  // A worker has listed the files of a graph.
  void TakeManifest(absl::Time now, const ManifestResult& result);
  // Assigns each graph without a manifest to a worker. Fails jobs whose Python
  // functions no worker can run.
  void AssignManifests(absl::Time now);
  // The number of workers or of their slots changed.
  void TakeFleetChange(absl::Time now);

  void FinishIfComplete(absl::Time now, const JobName& job);
  // `complete`: every element was reported out.
  void Finish(const JobName& job, bool complete);
  void Fail(const JobName& job, const absl::Status& status);
  // Records a reader's reason to leave if it is greater than the reasons so
  // far. The greatest reason is the run's ending.
  void NoteEnding(const JobState& job, LeaveReason why);
  void Forget(const JobName& job);

 private:
  absl::Status Create(const ClientHello& hello);
  absl::Status MakeRoom(uint64_t bytes);
  void Start(const ClientHello& hello, RunNumber run);
  bool IsToSequence(const ClientHello& hello, const JobState& job) const;
  void Plan(absl::Time now, const JobName& job);
  void DropRun(const JobState& job);

  DispatcherContext& context_;
  ManifestRequests& manifests_;
  const PythonFleet& pythons_;
  SplitBinder& binder_;
  PassSettler& settler_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RUN_LIFECYCLE_H_

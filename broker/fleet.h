#ifndef FEEDMILL_BROKER_FLEET_H_
#define FEEDMILL_BROKER_FLEET_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/job_traces.h"
#include "broker/manifest_requests.h"
#include "broker/python_fleet.h"
#include "broker/run_lifecycle.h"
#include "broker/split_reports.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// The workers: handles their heartbeats, and drains and loses them. Pure.
class Fleet {
 public:
  // The references must outlive this object.
  Fleet(DispatcherContext& context, ManifestRequests& manifests,
        PythonFleet& pythons, RunLifecycle& runs, SplitReports& reports,
        JobTraces& traces)
      : context_(context),
        manifests_(manifests),
        pythons_(pythons),
        runs_(runs),
        reports_(reports),
        traces_(traces) {}

  void Take(absl::Time now, const PeerId& from, const WorkerBeat& beat);
  // Loses the workers that are silent for too long.
  void LoseSilent(absl::Time now);
  // Sets faulty workers aside: they get no new splits until they are restarted,
  // an operator lets them work again, or no other worker can do their work. A
  // worker without which a job would stop is not set aside.
  void SetAsideFaulty(absl::Time now);
  // The peer's connection has ended. If the peer is silent afterwards, it
  // counts as dead.
  void NotePeerGone(const PeerId& peer);
  // An operator drains the worker, or lets it work again.
  absl::Status Drain(absl::Time now, const std::string& address, bool drains);
  // Returns the address of a worker; null if the worker is unknown.
  const PeerId* AddressOf(const WorkerId& worker) const;

 private:
  void Lose(const WorkerId& id, bool died, const std::string& why);
  void LoseRenamed(const PeerId& from, const WorkerId& name);
  bool Move(const WorkerId& id, KnownWorker& worker, const PeerId& to);
  bool TakeCapacity(const WorkerBeat& beat, KnownWorker& worker,
                    bool new_to_jobs);
  bool IsNeeded(const WorkerId& id, const KnownWorker& worker);
  bool WantsAnswer(const KnownWorker& worker, const WorkerBeat& beat) const;
  void TakeWork(absl::Time now, const WorkerBeat& beat, KnownWorker& worker);
  void TakeLoad(absl::Time now, const WorkerId& name, KnownWorker& worker,
                const WorkerLoad& load);

  DispatcherContext& context_;
  ManifestRequests& manifests_;
  PythonFleet& pythons_;
  RunLifecycle& runs_;
  SplitReports& reports_;
  JobTraces& traces_;
  std::map<PeerId, WorkerId> worker_at_;  // by address
  // No worker was last heard before this time.
  absl::Time oldest_heard_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_FLEET_H_

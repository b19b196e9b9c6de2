#ifndef FEEDMILL_BROKER_SPLIT_REPORTS_H_
#define FEEDMILL_BROKER_SPLIT_REPORTS_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Returns the status of a worker that looked for files, as readers get it.
absl::Status WithWorker(const absl::Status& status, const WorkerId& worker);

// Applies what readers and workers report of splits: progress, failed attempts,
// and deaths of workers. Keeps the lease table in step with the state. Pure.
class SplitReports {
 public:
  // The references must outlive this object.
  explicit SplitReports(DispatcherContext& context) : context_(context) {}

  // A reader reports how far it is. REQUIRES: the session is known.
  void TakeProgress(absl::Time now, const SessionKey& key,
                    const std::vector<SplitReport>& reports);
  // An attempt ended with an error. The split fails after the last attempt.
  void TakeFailure(const WorkerId& worker, const LeaseFailure& failure);
  // Ends the leases of a worker that is lost, and drops the worker. `died`: its
  // splits may have killed it. A position that killed workers which ran nothing
  // else is skipped or fails its split.
  void DropWorker(const WorkerId& id, bool died);
  // Returns the workers, since the last call, on which too many splits failed
  // that other workers computed: because of a broken disk or a missing mount,
  // for example.
  std::set<WorkerId> TakeFaulty() { return std::exchange(faulty_, {}); }

 private:
  void JudgeFailures(const SplitId& id);
  void EndSplits(std::vector<SplitId>& splits);
  void Advance(const SplitId& id);
  void Blame(const SplitId& id);

  DispatcherContext& context_;
  std::set<WorkerId> faulty_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_SPLIT_REPORTS_H_

#ifndef FEEDMILL_BROKER_STATUS_REPORT_H_
#define FEEDMILL_BROKER_STATUS_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/dispatcher_snapshot.h"
#include "broker/fleet_scale.h"
#include "broker/fleet_use.h"
#include "broker/job_verdicts.h"
#include "broker/verdict.h"

namespace feedmill {

// Returns the name of a job's state in status and metrics: "planning",
// "running", "finished", "left", "cancelled" or "failed".
const char* StateName(const JobState& job);
// Returns JSON: {"bound_by", "where", "gain", "sentence", "evidence"}.
std::string VerdictText(const Verdict& verdict);

// Describes the whole service for operators and for metrics. Pure.
class StatusReport {
 public:
  // The references must outlive this object.
  StatusReport(const DispatcherContext& context, const JobVerdicts& verdicts,
               const FleetScale& scale)
      : context_(context), verdicts_(verdicts), scale_(scale) {}

  void NoteTransport(const TransportFaults& faults) { transport_ = faults; }
  // Returns the data of `feedmill status`: {jobs, workers, totals, faults,
  // events}. Other programs read it, too.
  // `all_events`: all kept events, in place of the last ones.
  std::string StatusJson(absl::Time now, bool all_events = false) const;
  // Returns the last events, oldest first: [{id, age_s, kind, warning, text,
  // …}].
  std::string EventsJson(absl::Time now) const;
  DispatcherSnapshot Snapshot(absl::Time now) const;

 private:
  nlohmann::ordered_json JobJson(absl::Time now, const JobState& job,
                                 const FleetUse& fleet) const;
  nlohmann::ordered_json SessionJson(absl::Time now, const SessionKey& key,
                                     const SessionState& session) const;
  // Adds the positions that the job's readers were given and have taken.
  void AddPositions(const JobState& job, nlohmann::ordered_json& entry) const;
  // Adds the names of the causes for which the job is not faster, and the wish
  // for workers.
  void AddVerdict(absl::Time now, const JobState& job, const FleetUse& fleet,
                  nlohmann::ordered_json& entry) const;
  // Returns the workers' time by step of the job.
  nlohmann::ordered_json StepsOf(const JobState& job) const;
  nlohmann::ordered_json TotalsJson(const FleetUse& fleet) const;
  nlohmann::ordered_json FaultsJson() const;
  JobSnapshot SnapshotOf(absl::Time now, const JobState& job,
                         const FleetUse& fleet) const;

  const DispatcherContext& context_;
  const JobVerdicts& verdicts_;
  const FleetScale& scale_;
  TransportFaults transport_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_STATUS_REPORT_H_

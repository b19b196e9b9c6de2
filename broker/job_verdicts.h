#ifndef FEEDMILL_BROKER_JOB_VERDICTS_H_
#define FEEDMILL_BROKER_JOB_VERDICTS_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/dispatcher_snapshot.h"
#include "broker/fleet_use.h"
#include "broker/manifest_requests.h"
#include "broker/pass_settler.h"
#include "broker/steady_verdict.h"
#include "broker/verdict.h"
#include "core/wire/message.h"

namespace feedmill {

// Explains, for operators, what a job waits for and what bounds its rate.
// Pure.
class JobVerdicts {
 public:
  // The references must outlive this object.
  JobVerdicts(const DispatcherContext& context,
              const ManifestRequests& manifests, const PassSettler& settler)
      : context_(context), manifests_(manifests), settler_(settler) {}

  void NoteShell(const ShellLoad& load) { shell_ = load; }
  const ShellLoad& shell() const { return shell_; }

  // Returns the cause for which a job that is not over waits, e.g. "rank 1 of
  // 2". "" if the job waits only for its workers and readers.
  std::string WaitsFor(const JobState& job) const;
  // Returns the bound of the job's rate, from the reports of the last seconds.
  Verdict Judge(absl::Time now, const JobState& job,
                const FleetUse& fleet) const;
  // Returns the verdict that operators see. It changes less often than the
  // judgements.
  Verdict Reported(absl::Time now, const JobState& job,
                   const FleetUse& fleet) const;
  // Judges the jobs with readers. Call at each tick.
  void Look(absl::Time now);

 private:
  VerdictInput InputOf(absl::Time now, const JobState& job,
                       const FleetUse& fleet) const;
  void AddSteps(const PlanId& plan, const std::string& prefix,
                VerdictInput& input) const;
  VerdictInput::Reader InputOf(absl::Time now, const SessionKey& key,
                               const SessionState& session) const;

  const DispatcherContext& context_;
  const ManifestRequests& manifests_;
  const PassSettler& settler_;
  ShellLoad shell_;
  std::map<JobName, SteadyVerdict> steady_;  // of jobs with readers
  absl::Time next_look_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_JOB_VERDICTS_H_

#include "broker/fleet_scale.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "broker/fleet_use.h"

namespace feedmill {
namespace {

// Returns the job's key. Each reader without a job name has a job of its own;
// all these jobs count as one.
std::string ScaleKey(const JobState& job) {
  return job.anonymous() ? "" : job.name.value();
}

}  // namespace

const JobScale* FleetScale::Find(const JobState& job) const {
  if (!autoscaler_.workers_wanted().has_value()) return nullptr;
  return autoscaler_.FindJob(ScaleKey(job));
}

void FleetScale::Restore(absl::Time now) {
  autoscaler_.Restore(now, context_.state->scale);
  changed_ = autoscaler_.workers_wanted();
}

void FleetScale::Look(absl::Time now) {
  uint64_t workers = 0;
  for (const auto& [id, worker] : context_.leases.workers()) {
    workers += worker.draining ? 0 : 1;
  }
  if (!autoscaler_.Due(now, workers)) return;
  std::optional<std::string> change =
      autoscaler_.Look(now, FiguresOf(now, workers));
  // A service whose number never changed has nothing to remember.
  ScaleMemory memory = autoscaler_.Remember();
  if (memory != context_.state->scale &&
      (autoscaler_.changes() > 0 || context_.state->scale.decided)) {
    context_.state.Commit(ScaleNoted{std::move(memory)});
  }
  if (!change.has_value()) return;
  context_.log.ScaleChanged(*std::move(change));
  changed_ = autoscaler_.workers_wanted();
}

ScaleFigures FleetScale::FiguresOf(absl::Time now, uint64_t workers) const {
  const FleetUse fleet = FleetUse::Of(context_.leases, now);
  ScaleFigures figures;
  figures.workers = workers;
  if (fleet.threads > 0) figures.busy = fleet.busy / fleet.threads;
  const double threads =
      workers == 0
          ? 1
          : std::max(1.0, fleet.threads / static_cast<double>(workers));
  std::map<std::string, ScaleFigures::Job> jobs;
  double busy_workers = 0;
  for (const auto& [name, job] : context_.state->jobs) {
    if (job.over() || job.sessions.empty()) continue;
    const std::string key = ScaleKey(job);
    ScaleFigures::Job& figure = jobs[key];
    figure.name = key;
    figure.readers += job.sessions.size();
    const BoundBy bound = verdicts_.Judge(now, job, fleet).bound_by;
    if (bound != BoundBy::kNone) figure.bound_by = bound;
    if (const JobTotals* totals = context_.readers.TotalsOf(JobName(key));
        totals != nullptr) {
      figure.reader_s = totals->elapsed_s;
      figure.waited_s = totals->waited_s;
      figure.elements = totals->elements;
    }
    const auto own = fleet.by_plan.find(job.plan);
    if (own == fleet.by_plan.end() || !context_.plans.Knows(job.plan)) continue;
    const double sharers = std::max<double>(
        1, static_cast<double>(context_.plans.JobsOf(job.plan)));
    for (const VerdictInput::Worker& worker : own->second) {
      const double part =
          worker.busy * worker.threads * worker.share / threads / sharers;
      figure.busy_workers += part;
      busy_workers += part;
    }
  }
  // Shares are samples. Scale them so that their sum is at most the workers'
  // measured work.
  const double most = figures.busy * static_cast<double>(workers);
  for (auto& [name, job] : jobs) {
    if (busy_workers > most && most > 0) {
      job.busy_workers *= most / busy_workers;
    }
    figures.jobs.push_back(std::move(job));
  }
  return figures;
}

}  // namespace feedmill

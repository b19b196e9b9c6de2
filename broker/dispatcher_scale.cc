#include <algorithm>
#include <string>
#include <utility>

#include "broker/dispatcher.h"

// Figures for the autoscaler.

namespace feedmill {

// Returns the job's key. Each reader without a job name has a job of its own;
// all these jobs count as one.
std::string Dispatcher::ScaleKey(const JobState& job) const {
  return job.anonymous() ? "" : job.name.value();
}

void Dispatcher::LookAtScale(absl::Time now) {
  uint64_t workers = 0;
  for (const auto& [id, worker] : table_.workers()) {
    workers += worker.draining ? 0 : 1;
  }
  if (!autoscaler_.Due(now, workers)) return;
  std::optional<std::string> change =
      autoscaler_.Look(now, FiguresOf(now, workers));
  if (!change.has_value()) return;
  effects_.workers_wanted = autoscaler_.workers_wanted();
  effects_.notes.push_back(
      {DispatcherNote::Kind::kScale, false, *std::move(change)});
}

ScaleFigures Dispatcher::FiguresOf(absl::Time now, uint64_t workers) const {
  const FleetUse fleet = FleetUse::Of(table_, now);
  ScaleFigures figures;
  figures.workers = workers;
  if (fleet.threads > 0) figures.busy = fleet.busy / fleet.threads;
  const double threads =
      workers == 0
          ? 1
          : std::max(1.0, fleet.threads / static_cast<double>(workers));
  std::map<std::string, ScaleFigures::Job> jobs;
  double busy_workers = 0;
  for (const auto& [name, job] : state_.jobs) {
    if (job.over() || job.sessions.empty()) continue;
    const std::string key = ScaleKey(job);
    ScaleFigures::Job& figure = jobs[key];
    figure.name = key;
    figure.readers += job.sessions.size();
    const BoundBy bound = Judge(InputOf(now, job, fleet)).bound_by;
    if (bound != BoundBy::kNone) figure.bound_by = bound;
    if (const auto totals = totals_.find(JobName(key));
        totals != totals_.end()) {
      figure.reader_s = totals->second.elapsed_s;
      figure.waited_s = totals->second.waited_s;
      figure.elements = totals->second.elements;
    }
    const auto own = fleet.by_plan.find(job.plan);
    const auto plan = plans_.find(job.plan);
    if (own == fleet.by_plan.end() || plan == plans_.end()) continue;
    const double sharers =
        std::max<double>(1, static_cast<double>(plan->second.jobs.size()));
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

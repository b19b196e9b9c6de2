#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "monitoring/metrics.h"

namespace feedmill {
namespace {

double Number(uint64_t value) { return static_cast<double>(value); }

// Joins the metrics of workers, by plan, to the job.
void AddPlanOf(const JobSnapshot& job, MetricList& metrics) {
  if (job.plan.empty()) return;
  metrics.Gauge("feedmill_job_plan_info", "1 for the plan that the job reads",
                1,
                {{"job_name", job.anonymous ? "anonymous" : job.name},
                 {"plan", job.plan}});
}

void AddJob(const JobSnapshot& job, MetricList& metrics) {
  const MetricList::Labels of{{"job_name", job.name}};
  const auto with = [&](const std::string& label, const std::string& value) {
    MetricList::Labels labels = of;
    labels.emplace_back(label, value);
    return labels;
  };
  if (!job.state.empty()) {
    metrics.Gauge("feedmill_job_state", "1 for the state that the job is in", 1,
                  with("state", job.state));
    metrics.Gauge("feedmill_job_bound",
                  "1 for what bounds the job's rate now (the verdict)", 1,
                  with("bound_by", job.bound_by));
  }
  metrics.Counter("feedmill_job_elements_total",
                  "Elements that readers of the job took from workers",
                  Number(job.totals.elements), of);
  metrics.Counter("feedmill_job_bytes_total", "Bytes of these elements",
                  Number(job.totals.bytes), of);
  metrics.Counter("feedmill_job_skipped_elements_total",
                  "Elements that on_error left out", Number(job.totals.skipped),
                  of);
  metrics.Counter("feedmill_job_reader_seconds_total",
                  "Time since its first element was asked for, of all readers",
                  job.totals.elapsed_s, of);
  metrics.Counter("feedmill_job_wait_seconds_total",
                  "Of these, time in which the trainer waited for elements",
                  job.totals.waited_s, of);
  metrics.Counter("feedmill_job_client_step_seconds_total",
                  "Of these, time in steps that run in readers",
                  job.totals.stage_s, of);
  metrics.Gauge("feedmill_job_readers", "Readers that have a session",
                Number(job.readers), of);
  metrics.Gauge("feedmill_job_splits", "Splits that are assigned to readers",
                Number(job.splits), of);
  metrics.Gauge("feedmill_job_splits_waiting",
                "Of these, not yet at their reader", Number(job.splits_waiting),
                of);
  metrics.Gauge("feedmill_job_splits_unleased", "Of these, that no worker has",
                Number(job.splits_unleased), of);
  metrics.Gauge("feedmill_job_buffered_bytes",
                "Bytes of elements that wait in readers",
                Number(job.buffered_bytes), of);
  metrics.Gauge("feedmill_job_oldest_lease_age_seconds",
                "Time since the longest still lease made progress",
                job.oldest_lease_s, of);
  if (job.workers_wanted.has_value()) {
    metrics.Gauge("feedmill_job_workers_wanted",
                  "The job's share of the workers that are wanted",
                  Number(*job.workers_wanted), of);
    metrics.Gauge("feedmill_job_more_workers_help",
                  "0 if the job waits and more workers would not change that",
                  job.more_workers_help ? 1 : 0, of);
  }
  for (size_t k = 0; k < std::min(job.steps.size(), kStepsShown); ++k) {
    const JobSnapshot::Step& step = job.steps[k];
    metrics.Counter("feedmill_step_measured_seconds_total",
                    "Time on a core or blocked in a step, of the tasks that "
                    "workers measured; its share tells",
                    step.wall_s, with("step", step.name));
    metrics.Counter("feedmill_step_measured_cpu_seconds_total",
                    "Of these, time on a core", step.cpu_s,
                    with("step", step.name));
    metrics.Counter("feedmill_step_measured_rows_total",
                    "Rows that the step made in measured tasks",
                    Number(step.rows_out), with("step", step.name));
  }
}

void AddWorker(const WorkerSnapshot& worker, MetricList& metrics) {
  const MetricList::Labels of{{"worker", worker.name}};
  metrics.Gauge("feedmill_dispatcher_worker_busy_ratio",
                "Part of the worker's threads that has work", worker.busy, of);
  metrics.Counter("feedmill_dispatcher_worker_busy_seconds_total",
                  "Time that the worker's threads worked", worker.busy_s, of);
  metrics.Gauge("feedmill_dispatcher_worker_draining",
                "1 while the worker drains", worker.draining ? 1 : 0, of);
  metrics.Gauge("feedmill_dispatcher_worker_slots",
                "Leases that the worker takes", Number(worker.slots), of);
  metrics.Gauge("feedmill_dispatcher_worker_leases",
                "Leases that the worker has", Number(worker.leases), of);
  metrics.Counter("feedmill_dispatcher_worker_leases_failed_total",
                  "Attempts at splits that ended with an error on the worker",
                  Number(worker.leases_failed), of);
  metrics.Gauge("feedmill_dispatcher_worker_set_aside",
                "1 while the worker gets no splits, because splits failed on "
                "it that other workers computed",
                worker.set_aside ? 1 : 0, of);
  metrics.Gauge("feedmill_dispatcher_worker_memory_bytes",
                "Elements that the worker has made and not sent",
                Number(worker.memory_bytes), of);
  metrics.Gauge("feedmill_dispatcher_worker_memory_limit_bytes",
                "The most of these", Number(worker.memory_max), of);
  metrics.Gauge("feedmill_dispatcher_worker_streams",
                "Streams that readers ask the worker for", worker.streams, of);
  for (const auto& [what, value] :
       {std::pair{"credit", worker.waiting_for_credit},
        std::pair{"memory", worker.waiting_for_memory}}) {
    MetricList::Labels labels = of;
    labels.emplace_back("for", what);
    metrics.Gauge("feedmill_dispatcher_worker_streams_waiting",
                  "Of these, streams that wait for a reader's credit, or for "
                  "the worker's memory",
                  value, labels);
  }
  metrics.Gauge("feedmill_dispatcher_worker_heartbeat_age_seconds",
                "Time since the worker's last heartbeat", worker.heard_s, of);
}

void AddFaults(const DispatcherSnapshot& snapshot, MetricList& metrics) {
  const DispatcherFaults& faults = snapshot.faults;
  const TransportFaults& transport = snapshot.transport;
  const struct {
    const char* name;
    const char* help;
    uint64_t value;
  } counters[] = {
      {"workers_lost", "Workers that were silent too long, or started again",
       faults.workers_lost},
      {"workers_died", "Of these, workers whose process ended",
       faults.workers_died},
      {"workers_set_aside",
       "Times that a worker was set aside, because splits failed on it",
       faults.workers_set_aside},
      {"jobs_failed",
       "Runs of jobs that the dispatcher gave up, of jobs without a name, too",
       faults.jobs_failed},
      {"cache_write_failures", "Caches that workers could not write",
       faults.cache_write_failures},
      {"leases_failed", "Attempts at splits that ended with an error",
       faults.leases_failed},
      {"lease_retries", "Second attempts at splits that stood still",
       faults.second_attempts},
      {"splits_failed", "Splits that failed after all attempts",
       faults.splits_failed},
      {"sessions_released", "Readers that were silent too long",
       faults.sessions_released},
      {"sessions_refused", "Readers that were not let in",
       faults.sessions_refused},
      {"sessions_fenced",
       "Messages of readers whose place another one has taken",
       faults.sessions_fenced},
      {"messages_refused", "Messages that were not understood or not allowed",
       transport.messages_refused},
      {"messages_dropped", "Messages to peers that are gone or do not read",
       transport.messages_dropped},
      {"connections_refused", "Connections that ended in their handshake",
       transport.connections_refused},
      {"relayed_bytes", "Bytes that were relayed between workers and readers",
       transport.relayed_bytes},
      {"relay_messages_dropped",
       "Relayed messages that were dropped because too much was waiting",
       transport.relay_dropped},
  };
  for (const auto& counter : counters) {
    metrics.Counter(
        std::string("feedmill_dispatcher_") + counter.name + "_total",
        counter.help, Number(counter.value));
  }
  metrics.Gauge("feedmill_dispatcher_relay_waiting_bytes",
                "Bytes that wait to be sent to readers and workers",
                Number(transport.relay_waiting_bytes));
}

void AddShell(const DispatcherSnapshot& snapshot, MetricList& metrics) {
  const ShellLoad& shell = snapshot.shell;
  metrics.Gauge("feedmill_dispatcher_busy_ratio",
                "Part of the last second that the dispatcher's thread worked",
                shell.busy);
  metrics.Counter("feedmill_dispatcher_journal_syncs_total",
                  "Times that the journal was made durable",
                  Number(shell.journal_syncs));
  metrics.Counter("feedmill_dispatcher_journal_sync_seconds_total",
                  "Time that this took",
                  absl::ToDoubleSeconds(shell.journal_time));
  metrics.Gauge("feedmill_dispatcher_journal_last_sync_seconds",
                "Time that the last one took",
                absl::ToDoubleSeconds(shell.journal_last));
  metrics.Counter("feedmill_dispatcher_journal_events_total",
                  "Events of the journal, earlier dispatchers' too",
                  Number(snapshot.events));
  if (shell.free_bytes.has_value()) {
    metrics.Gauge("feedmill_dispatcher_work_dir_free_bytes",
                  "Bytes that the file system of --work-dir has left",
                  Number(*shell.free_bytes));
  }
  if (shell.term > 0) {
    metrics.Gauge("feedmill_dispatcher_term",
                  "Which dispatcher in turn leads the state in a store",
                  Number(shell.term));
  }
  if (shell.free_bytes.has_value() || shell.term > 0) {
    uint64_t behind = 0;
    for (const StandbySnapshot& standby : shell.standbys) {
      behind = std::max(behind, standby.behind.value_or(0));
    }
    metrics.Gauge("feedmill_dispatcher_standbys",
                  "Standbys that the dispatcher sees",
                  Number(shell.standbys.size()));
    metrics.Gauge("feedmill_dispatcher_standby_behind_events",
                  "Events of the journal that the slowest one has not read",
                  Number(behind));
  }
  metrics.Gauge("feedmill_dispatcher_jobs", "Jobs that are known",
                Number(snapshot.jobs.size()));
  metrics.Gauge("feedmill_dispatcher_workers", "Workers that are registered",
                Number(snapshot.workers.size()));
  metrics.Gauge("feedmill_dispatcher_readers", "Readers that have a session",
                Number(snapshot.sessions));
  metrics.Gauge("feedmill_dispatcher_slots",
                "Leases that workers take which do not drain",
                Number(snapshot.slots));
  metrics.Gauge("feedmill_dispatcher_splits", "Splits that are assigned",
                Number(snapshot.splits));
  metrics.Gauge("feedmill_dispatcher_leases", "Splits that a worker has",
                Number(snapshot.leases));
}

// Merges all jobs without a name into one. Each reader without a job name has a
// job of its own, so one series per such job would be unbounded.
JobSnapshot Together(const std::vector<JobSnapshot>& jobs,
                     const JobTotals& totals) {
  JobSnapshot all;
  all.name = "anonymous";
  all.totals = totals;
  for (const JobSnapshot& job : jobs) {
    if (!job.anonymous) continue;
    all.readers += job.readers;
    all.splits += job.splits;
    all.splits_waiting += job.splits_waiting;
    all.splits_unleased += job.splits_unleased;
    all.buffered_bytes += job.buffered_bytes;
    if (job.workers_wanted.has_value()) {
      all.workers_wanted = job.workers_wanted;
      all.more_workers_help = job.more_workers_help;
    }
    all.oldest_lease_s = std::max(all.oldest_lease_s, job.oldest_lease_s);
  }
  return all;
}

// Jobs that are read come first, those with the most readers before the others.
// Then come the jobs that lost their last readers most recently: a job that has
// just failed has series after any number of older jobs.
bool IsShownBefore(const JobSnapshot* a, const JobSnapshot* b) {
  return std::tuple(a->readers, a->readers > 0 ? 0 : a->idle_since) >
         std::tuple(b->readers, b->readers > 0 ? 0 : b->idle_since);
}

}  // namespace

void AddDispatcherMetrics(const DispatcherSnapshot& snapshot,
                          MetricList& metrics) {
  AddShell(snapshot, metrics);
  AddFaults(snapshot, metrics);
  if (snapshot.workers_wanted.has_value()) {
    metrics.Gauge("feedmill_workers_wanted",
                  "Workers that the jobs need, within the bounds of --scale",
                  Number(*snapshot.workers_wanted));
  }
  metrics.Counter("feedmill_workers_wanted_changes_total",
                  "Times that another number of workers was wanted",
                  Number(snapshot.scale_changes));
  std::vector<const JobSnapshot*> named;
  for (const JobSnapshot& job : snapshot.jobs) {
    if (!job.anonymous) named.push_back(&job);
  }
  std::stable_sort(named.begin(), named.end(), IsShownBefore);
  const size_t jobs = std::min(named.size(), kJobsShown);
  for (size_t k = 0; k < jobs; ++k) {
    AddPlanOf(*named[k], metrics);
    AddJob(*named[k], metrics);
  }
  std::set<std::string> unnamed;  // jobs without a name may share a plan
  for (const JobSnapshot& job : snapshot.jobs) {
    if (!job.anonymous || job.readers == 0) continue;
    if (unnamed.size() >= kJobsShown) break;
    if (unnamed.insert(job.plan).second) AddPlanOf(job, metrics);
  }
  AddJob(Together(snapshot.jobs, snapshot.anonymous), metrics);
  metrics.Gauge("feedmill_dispatcher_jobs_not_shown",
                "Named jobs without series of their own",
                Number(named.size() - jobs));
  std::vector<const WorkerSnapshot*> fleet;
  for (const WorkerSnapshot& each : snapshot.workers) fleet.push_back(&each);
  std::stable_partition(fleet.begin(), fleet.end(),
                        [](const WorkerSnapshot* w) { return w->set_aside; });
  const size_t workers = std::min(fleet.size(), kWorkersShown);
  for (size_t k = 0; k < workers; ++k) AddWorker(*fleet[k], metrics);
  metrics.Gauge("feedmill_dispatcher_workers_not_shown",
                "Workers without series of their own",
                Number(snapshot.workers.size() - workers));
}

}  // namespace feedmill

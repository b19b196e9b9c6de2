#ifndef FEEDMILL_MONITORING_METRICS_H_
#define FEEDMILL_MONITORING_METRICS_H_

#include <cstddef>
#include <vector>

#include "broker/dispatcher_snapshot.h"
#include "client/reader_roster.h"
#include "monitoring/metric_list.h"
#include "worker/worker_status.h"

// Prometheus metrics of each process. docs/monitoring.md lists the names.

namespace feedmill {

// Maximum numbers of named jobs and workers with series of their own. Further
// jobs and workers are counted in feedmill_dispatcher_jobs_not_shown and
// feedmill_dispatcher_workers_not_shown.
inline constexpr size_t kJobsShown = 100;
inline constexpr size_t kWorkersShown = 200;
inline constexpr size_t kStepsShown = 64;  // maximum per job
inline constexpr size_t kPlansShown = 32;  // maximum per worker
// Maximum number of jobs and ranks of a trainer with series of their own.
inline constexpr size_t kReadersShown = 100;

void AddDispatcherMetrics(const DispatcherSnapshot& snapshot,
                          MetricList& metrics);
void AddWorkerMetrics(const WorkerStatus& status, MetricList& metrics);
void AddReaderMetrics(std::vector<ReaderTotals> readers, MetricList& metrics);
// Adds CPU, memory, file descriptors and start time of this process, under the
// names that Prometheus client libraries use.
void AddProcessMetrics(MetricList& metrics);

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_METRICS_H_

#ifndef FEEDMILL_MONITORING_METRICS_H_
#define FEEDMILL_MONITORING_METRICS_H_

#include <cstddef>

#include "broker/dispatcher_snapshot.h"
#include "monitoring/metric_list.h"
#include "worker/worker_status.h"

// What each process tells Prometheus. docs/monitoring.md lists the names.

namespace feedmill {

// Named jobs and workers that have series of their own; the rest is counted in
// feedmill_dispatcher_jobs_not_shown and …_workers_not_shown.
inline constexpr size_t kJobsShown = 100;
inline constexpr size_t kWorkersShown = 200;
inline constexpr size_t kStepsShown = 64;  // of a job
inline constexpr size_t kPlansShown = 32;  // of a worker

void AddDispatcherMetrics(const DispatcherSnapshot& snapshot,
                          MetricList& metrics);
void AddWorkerMetrics(const WorkerStatus& status, MetricList& metrics);
// CPU, memory, descriptors and start of this process, as client libraries of
// Prometheus name them.
void AddProcessMetrics(MetricList& metrics);

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_METRICS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "monitoring/metrics.h"

namespace feedmill {
namespace {

double Count(uint64_t value) { return static_cast<double>(value); }

// Returns the name of a place of a plan, as the dispatcher's metrics have it.
std::string PlaceText(const std::vector<std::string>& names, uint32_t place) {
  if (place < names.size() && !names[place].empty()) return names[place];
  return fmt::format("place {}", place);
}

void AddPlan(const PlanLoad& plan, const std::vector<std::string>& names,
             MetricList& metrics) {
  const MetricList::Labels of{{"plan", plan.plan.value()}};
  const auto with = [&](const std::string& label, const std::string& value) {
    MetricList::Labels labels = of;
    labels.emplace_back(label, value);
    return labels;
  };
  metrics.Counter("feedmill_worker_plan_elements_total",
                  "Elements that were sent for a plan", Count(plan.elements),
                  of);
  metrics.Counter("feedmill_worker_plan_bytes_total", "Bytes of these elements",
                  Count(plan.bytes), of);
  metrics.Gauge("feedmill_worker_plan_ready_bytes",
                "Elements that are made and not sent", Count(plan.ready_bytes),
                of);
  metrics.Gauge("feedmill_worker_plan_streams", "Streams that readers ask for",
                Count(plan.streams), of);
  for (const auto& [what, value] :
       {std::pair{"credit", plan.waiting_for_credit},
        std::pair{"memory", plan.waiting_for_memory}}) {
    metrics.Gauge("feedmill_worker_plan_streams_waiting",
                  "Of these, streams that wait for a reader's credit, or for "
                  "memory",
                  Count(value), with("for", what));
  }
  for (size_t k = 0; k < std::min(plan.steps.size(), kStepsShown); ++k) {
    const StepCost& step = plan.steps[k];
    const MetricList::Labels labels =
        with("step", PlaceText(names, step.place));
    metrics.Counter("feedmill_worker_step_measured_seconds_total",
                    "Time on a core or blocked in a step, of measured tasks",
                    Count(step.wall_ns) * 1e-9, labels);
    metrics.Counter("feedmill_worker_step_measured_cpu_seconds_total",
                    "Of these, time on a core", Count(step.cpu_ns) * 1e-9,
                    labels);
    metrics.Counter("feedmill_worker_step_measured_rows_total",
                    "Rows that the step made in measured tasks",
                    Count(step.rows_out), labels);
  }
}

}  // namespace

void AddWorkerMetrics(const WorkerStatus& status, MetricList& metrics) {
  const WorkerLoad& load = status.load;
  metrics.Gauge("feedmill_worker_registered",
                "1 while a dispatcher knows the worker",
                status.registered ? 1 : 0);
  metrics.Gauge("feedmill_worker_draining", "1 while the worker drains",
                status.draining ? 1 : 0);
  metrics.Gauge("feedmill_worker_threads", "Threads that work",
                Count(load.threads));
  metrics.Gauge("feedmill_worker_tasks", "Tasks that are under way",
                Count(load.tasks));
  metrics.Counter("feedmill_worker_busy_seconds_total",
                  "Time that threads worked", absl::ToDoubleSeconds(load.busy));
  metrics.Gauge("feedmill_worker_leases", "Splits that the worker has",
                Count(status.leases));
  metrics.Gauge("feedmill_worker_memory_bytes",
                "Elements that are made and not sent",
                Count(load.memory_bytes));
  metrics.Gauge("feedmill_worker_memory_limit_bytes", "The most of these",
                Count(load.memory_max));
  metrics.Counter("feedmill_worker_cache_write_failures_total",
                  "Caches that could not be written", Count(load.cache_faults));
  metrics.Gauge("feedmill_worker_memory_clients",
                "Readers of this host that share the worker's memory",
                Count(status.memory_clients));
  const size_t plans = std::min(load.plans.size(), kPlansShown);
  for (size_t k = 0; k < plans; ++k) {
    const auto names = status.places.find(load.plans[k].plan);
    AddPlan(load.plans[k],
            names == status.places.end() ? std::vector<std::string>()
                                         : names->second,
            metrics);
  }
}

}  // namespace feedmill

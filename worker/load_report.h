#ifndef FEEDMILL_WORKER_LOAD_REPORT_H_
#define FEEDMILL_WORKER_LOAD_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// Counts what a worker reports of its load, for operators. No decision depends
// on it. Pure.
class LoadReport {
 public:
  // Adds and drops a plan. The other calls have no effect on unknown plans.
  void Begin(const PlanId& plan) { plans_.try_emplace(plan); }
  void Forget(const PlanId& plan) { plans_.erase(plan); }

  void AddBusy(absl::Duration busy) { busy_ += busy; }
  void NoteSent(const PlanId& plan, uint64_t elements, uint64_t bytes);
  // True if the costs of the plan's next task are wanted. At most one task of a
  // plan per interval is measured step by step, which bounds the cost of
  // measuring short tasks.
  bool MayMeasure(absl::Time now, const PlanId& plan);
  void NoteCosts(const PlanId& plan, const StepCosts& costs);

  // The process could not write `faults` caches so far; the first, and why.
  void NoteCacheFaults(uint64_t faults, std::string first) {
    cache_faults_ = faults;
    cache_fault_ = std::move(first);
  }

  // Adds to a report: the busy time, and for its plans the elements sent and
  // the costs since the plan began.
  void AddTotals(WorkerLoad& load) const;
  // True at the first call after the reporting interval.
  bool TakeDue(absl::Time now);
  // Returns what is new in the report `load`, for a heartbeat. Nullopt if the
  // worker was idle at the last report and still is: thousands of idle workers
  // report nothing.
  std::optional<WorkerLoad> TakeNews(WorkerLoad load);

 private:
  struct Plan {
    uint64_t sent_elements = 0;
    uint64_t sent_bytes = 0;
    uint64_t reported_elements = 0;
    absl::Time measure_at = absl::InfinitePast();
    std::map<uint32_t, StepCost> measured{};  // since the last report
    std::map<uint32_t, StepCost> measured_ever{};
  };

  std::map<PlanId, Plan> plans_;
  absl::Duration busy_;  // of all threads, in tasks
  absl::Time next_ = absl::InfinitePast();
  bool was_idle_ = false;  // in the last report
  uint64_t cache_faults_ = 0;
  uint64_t reported_faults_ = 0;
  std::string cache_fault_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_LOAD_REPORT_H_

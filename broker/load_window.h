#ifndef FEEDMILL_BROKER_LOAD_WINDOW_H_
#define FEEDMILL_BROKER_LOAD_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "core/wire/message.h"

// The last seconds of what peers report of their load. Pure.

namespace feedmill {

// Reports older than this do not count.
inline constexpr absl::Duration kLoadWindow = absl::Seconds(5);
inline constexpr size_t kLoadSamplesMax = 16;

class ReaderWindow {
 public:
  void Add(absl::Time now, const ReaderLoad& load);
  // The last report; all zero before the first.
  const ReaderLoad& last() const { return last_; }
  // Increase of the counters in the window; gauges have their last values.
  // Nullopt before two reports, or if the last one is old.
  std::optional<ReaderLoad> Recent(absl::Time now) const;

 private:
  std::deque<std::pair<absl::Time, ReaderLoad>> samples_;
  ReaderLoad last_;
};

// The work of one worker for one plan, averaged over the window.
struct PlanUse {
  double streams = 0;
  double waiting_for_credit = 0;
  double waiting_for_memory = 0;
  double step_seconds = 0;  // measured, of samples
  // `elements` of the plan's load that a thread with work did in a second;
  // nullopt if the worker had too little to do for the plan, or for too short.
  std::optional<double> speed{};
};

class WorkerWindow {
 public:
  void Add(absl::Time now, const WorkerLoad& load);
  const WorkerLoad& last() const { return last_; }
  // Part of the threads that have work, 0 to 1; 0 if nothing was reported
  // lately.
  double Busy(absl::Time now) const;
  // By plan, of those that were reported in the window.
  std::map<PlanId, PlanUse> Plans(absl::Time now) const;

 private:
  std::deque<std::pair<absl::Time, WorkerLoad>> samples_;
  WorkerLoad last_;
};

// Time and rows of the steps of a plan, from samples of workers. Older samples
// weigh less: all are halved every five seconds.
class StepUse {
 public:
  void Add(absl::Time now, const StepCost& cost);
  const std::map<uint32_t, StepCost>& steps() const { return steps_; }
  // Never halved.
  const std::map<uint32_t, StepCost>& totals() const { return totals_; }

 private:
  std::map<uint32_t, StepCost> steps_;
  std::map<uint32_t, StepCost> totals_;
  absl::Time halved_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_LOAD_WINDOW_H_

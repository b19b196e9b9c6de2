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

// Load reports of peers over the last seconds. Pure.

namespace feedmill {

// Reports older than this do not count.
inline constexpr absl::Duration kLoadWindow = absl::Seconds(5);
inline constexpr size_t kLoadSamplesMax = 16;

class ReaderWindow {
 public:
  void Add(absl::Time now, const ReaderLoad& load);
  // Returns the last report; all zero before the first report.
  const ReaderLoad& last() const { return last_; }
  // Returns the increase of the counters in the window, with the last values of
  // the gauges. Nullopt before two reports, or if the last report is old.
  std::optional<ReaderLoad> Recent(absl::Time now) const;
  // Returns the longest wait of the application for one element in the window.
  absl::Duration LongestWait() const;

 private:
  std::deque<std::pair<absl::Time, ReaderLoad>> samples_;
  ReaderLoad last_;
};

// The work of one worker for one plan, averaged over the window.
struct PlanUse {
  double streams = 0;
  double waiting_for_credit = 0;
  double waiting_for_memory = 0;
  double step_seconds = 0;  // measured in samples
  // The plan's part of the step_seconds of all plans; 1 if none are measured.
  double share = 1;
  // Elements of the plan per second of a thread with work. Nullopt if the
  // worker had too little work for the plan, or for too short a time.
  std::optional<double> speed{};
  // Part of the times between two reports in which elements were sent. If it is
  // small, elements come in lumps, and `speed` varies.
  double progress = 0;
};

class WorkerWindow {
 public:
  void Add(absl::Time now, const WorkerLoad& load);
  const WorkerLoad& last() const { return last_; }
  // Part of the threads that have work, 0 to 1; 0 without a recent report.
  double Busy(absl::Time now) const;
  // The same of tasks that ended. Unlike Busy, it does not count the time in
  // which a running task waits for a core.
  double Worked() const;
  // Returns the work by plan, for the plans that were reported in the window.
  std::map<PlanId, PlanUse> Plans(absl::Time now) const;

 private:
  std::deque<std::pair<absl::Time, WorkerLoad>> samples_;
  WorkerLoad last_;
};

// Time and rows of the steps of a plan, from samples of workers. All sums are
// halved every five seconds, so older samples weigh less.
class StepUse {
 public:
  void Add(absl::Time now, const StepCost& cost);
  const std::map<uint32_t, StepCost>& steps() const { return steps_; }
  // The same sums, never halved.
  const std::map<uint32_t, StepCost>& totals() const { return totals_; }

 private:
  std::map<uint32_t, StepCost> steps_;
  std::map<uint32_t, StepCost> totals_;
  absl::Time halved_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_LOAD_WINDOW_H_

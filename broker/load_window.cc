#include "broker/load_window.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr absl::Duration kHalvedEach = absl::Seconds(5);
constexpr size_t kPlacesMax = 256;

template <class Samples>
void DropOld(absl::Time now, Samples& samples) {
  while (samples.size() > 2 && (samples.size() > kLoadSamplesMax ||
                                now - samples.front().first > kLoadWindow)) {
    samples.pop_front();
  }
}

void AddCost(const StepCost& cost, StepCost& sum) {
  sum.place = cost.place;
  sum.wall_ns += cost.wall_ns;
  sum.cpu_ns += cost.cpu_ns;
  sum.rows_in += cost.rows_in;
  sum.rows_out += cost.rows_out;
  sum.bytes_out += cost.bytes_out;
}

}  // namespace

void ReaderWindow::Add(absl::Time now, const ReaderLoad& load) {
  // Another life of the reader counts from zero.
  if (load.elapsed < last_.elapsed) samples_.clear();
  samples_.emplace_back(now, load);
  last_ = load;
  DropOld(now, samples_);
}

std::optional<ReaderLoad> ReaderWindow::Recent(absl::Time now) const {
  if (samples_.size() < 2 || now - samples_.back().first > kLoadWindow) {
    return std::nullopt;
  }
  const ReaderLoad& first = samples_.front().second;
  ReaderLoad recent = last_;
  recent.elapsed -= first.elapsed;
  recent.waited -= first.waited;
  recent.stage -= first.stage;
  recent.elements -= std::min(first.elements, recent.elements);
  recent.bytes -= std::min(first.bytes, recent.bytes);
  recent.skipped -= std::min(first.skipped, recent.skipped);
  return recent;
}

void WorkerWindow::Add(absl::Time now, const WorkerLoad& load) {
  if (load.busy < last_.busy) samples_.clear();  // another process
  samples_.emplace_back(now, load);
  last_ = load;
  DropOld(now, samples_);
}

// A task counts when it ends, and may take longer than the window: tasks that
// are under way count, too.
double WorkerWindow::Busy(absl::Time now) const {
  if (samples_.empty() || last_.threads == 0) return 0;
  const bool old = now - samples_.back().first > kLoadWindow;
  if (old && last_.tasks == 0) return 0;
  const double threads = last_.threads;
  double under_way = 0;
  for (const auto& [at, load] : samples_) {
    under_way += std::min<double>(load.tasks, threads);
  }
  under_way /= static_cast<double>(samples_.size()) * threads;
  const absl::Duration time = samples_.back().first - samples_.front().first;
  double busy = 0;
  if (time > absl::ZeroDuration()) {
    busy = absl::FDivDuration(last_.busy - samples_.front().second.busy,
                              time * last_.threads);
  }
  return std::clamp(std::max(busy, under_way), 0.0, 1.0);
}

PlanUse WorkerWindow::Of(absl::Time now, const PlanId& plan) const {
  PlanUse use;
  if (samples_.empty() || now - samples_.back().first > kLoadWindow) return use;
  for (const auto& [at, load] : samples_) {
    for (const PlanLoad& each : load.plans) {
      if (each.plan != plan) continue;
      use.streams += each.streams;
      use.waiting_for_credit += each.waiting_for_credit;
      use.waiting_for_memory += each.waiting_for_memory;
      for (const StepCost& cost : each.steps) {
        use.step_seconds += static_cast<double>(cost.wall_ns) * 1e-9;
      }
    }
  }
  const auto count = static_cast<double>(samples_.size());
  use.streams /= count;
  use.waiting_for_credit /= count;
  use.waiting_for_memory /= count;
  return use;
}

std::optional<double> WorkerWindow::Speed(absl::Time now,
                                          const PlanId& plan) const {
  constexpr absl::Duration kTimeLeast = absl::Seconds(2);
  constexpr double kBusyLeast = 0.3;
  if (samples_.empty() || now - samples_.back().first > kLoadWindow) {
    return std::nullopt;
  }
  const PlanLoad* first = nullptr;
  const PlanLoad* last = nullptr;
  absl::Time begun;
  for (const auto& [at, load] : samples_) {
    for (const PlanLoad& each : load.plans) {
      if (each.plan != plan) continue;
      if (first == nullptr) begun = at;
      if (first == nullptr) first = &each;
      last = &each;
    }
  }
  const absl::Duration time = samples_.back().first - begun;
  const double busy = Busy(now);
  if (first == nullptr || time < kTimeLeast || busy < kBusyLeast ||
      last->elements < first->elements) {
    return std::nullopt;
  }
  return static_cast<double>(last->elements - first->elements) /
         (absl::ToDoubleSeconds(time) * last_.threads * busy);
}

PlanUse WorkerWindow::All(absl::Time now) const {
  PlanUse all;
  for (const PlanLoad& each : last_.plans) {
    const PlanUse use = Of(now, each.plan);
    all.streams += use.streams;
    all.waiting_for_credit += use.waiting_for_credit;
    all.waiting_for_memory += use.waiting_for_memory;
    all.step_seconds += use.step_seconds;
  }
  return all;
}

void StepUse::Add(absl::Time now, const StepCost& cost) {
  if (halved_ == absl::InfinitePast()) halved_ = now;
  if (now - halved_ >= kHalvedEach) {
    halved_ = now;
    for (auto& [place, sum] : steps_) {
      sum.wall_ns /= 2;
      sum.cpu_ns /= 2;
    }
  }
  if (steps_.size() >= kPlacesMax && !steps_.contains(cost.place)) return;
  AddCost(cost, steps_[cost.place]);
  AddCost(cost, totals_[cost.place]);
}

}  // namespace feedmill

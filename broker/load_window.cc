#include "broker/load_window.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr absl::Duration kHalvedEach = absl::Seconds(5);
constexpr size_t kPlacesMax = 256;
// A worker's speed is known if it had the plan for kSpeedTimeLeast. At least
// kBusyLeast of its threads must have worked, and kShareLeast of their time for
// the plan.
constexpr absl::Duration kSpeedTimeLeast = absl::Seconds(3);
constexpr double kBusyLeast = 0.3;
constexpr double kShareLeast = 0.1;

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

absl::Duration ReaderWindow::LongestWait() const {
  absl::Duration longest = absl::ZeroDuration();
  const ReaderLoad* begin = nullptr;  // last report that had a new element
  for (const auto& [at, load] : samples_) {
    if (begin != nullptr) {
      longest = std::max(longest, load.waited - begin->waited);
    }
    if (begin == nullptr || load.elements != begin->elements) begin = &load;
  }
  return longest;
}

void WorkerWindow::Add(absl::Time now, const WorkerLoad& load) {
  if (load.busy < last_.busy) samples_.clear();  // another process
  samples_.emplace_back(now, load);
  last_ = load;
  DropOld(now, samples_);
}

// `busy` counts a task when it ends, which may be after the window. Running
// tasks are therefore counted, too.
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
  return std::clamp(std::max(Worked(), under_way), 0.0, 1.0);
}

double WorkerWindow::Worked() const {
  if (samples_.empty() || last_.threads == 0) return 0;
  const absl::Duration time = samples_.back().first - samples_.front().first;
  if (time <= absl::ZeroDuration()) return 0;
  return std::clamp(
      absl::FDivDuration(last_.busy - samples_.front().second.busy,
                         time * last_.threads),
      0.0, 1.0);
}

std::map<PlanId, PlanUse> WorkerWindow::Plans(absl::Time now) const {
  std::map<PlanId, PlanUse> plans;
  if (samples_.empty() || now - samples_.back().first > kLoadWindow) {
    return plans;
  }
  struct Sent {
    absl::Time begun;
    uint64_t first = 0;
    uint64_t last = 0;
    double intervals = 0;
    double with_elements = 0;
  };
  std::map<PlanId, Sent> sent;
  const double part = 1 / static_cast<double>(samples_.size());
  for (const auto& [at, load] : samples_) {
    for (const PlanLoad& each : load.plans) {
      PlanUse& use = plans[each.plan];
      use.streams += each.streams * part;
      use.waiting_for_credit += each.waiting_for_credit * part;
      use.waiting_for_memory += each.waiting_for_memory * part;
      for (const StepCost& cost : each.steps) {
        use.step_seconds += static_cast<double>(cost.wall_ns) * 1e-9;
      }
      const Sent fresh{at, each.elements, each.elements};
      const auto [known, added] = sent.try_emplace(each.plan, fresh);
      if (added) continue;
      Sent& sum = known->second;
      ++sum.intervals;
      if (each.elements > sum.last) ++sum.with_elements;
      sum.last = each.elements;
    }
  }
  double step_seconds = 0;
  for (const auto& [plan, use] : plans) step_seconds += use.step_seconds;
  for (auto& [plan, use] : plans) {
    if (step_seconds > 0) use.share = use.step_seconds / step_seconds;
  }
  const double busy = Busy(now);
  if (busy < kBusyLeast) return plans;
  for (const auto& [plan, each] : sent) {
    const absl::Duration time = samples_.back().first - each.begun;
    if (time < kSpeedTimeLeast || each.last < each.first) continue;
    PlanUse& use = plans[plan];
    if (use.share < kShareLeast) continue;
    use.speed =
        static_cast<double>(each.last - each.first) /
        (absl::ToDoubleSeconds(time) * last_.threads * busy * use.share);
    use.progress = each.with_elements / each.intervals;
  }
  return plans;
}

void StepUse::Add(absl::Time now, const StepCost& cost) {
  if (halved_ == absl::InfinitePast()) halved_ = now;
  if (now - halved_ >= kHalvedEach) {
    halved_ = now;
    for (auto& [place, sum] : steps_) {
      sum.wall_ns /= 2;
      sum.cpu_ns /= 2;
      sum.rows_in /= 2;
      sum.rows_out /= 2;
      sum.bytes_out /= 2;
    }
  }
  if (steps_.size() >= kPlacesMax && !steps_.contains(cost.place)) return;
  AddCost(cost, steps_[cost.place]);
  AddCost(cost, totals_[cost.place]);
}

}  // namespace feedmill

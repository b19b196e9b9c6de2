#include "broker/autoscaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace feedmill {
namespace {

// The fleet grows only if at least this part of its threads has work. Otherwise
// new threads would be idle, too.
constexpr double kBusyToGrow = 0.75;
// Target part of the threads that have work after growth.
constexpr double kFill = 0.85;
// Part of the threads that may have work after shrinking. The distance to
// kBusyToGrow is the hysteresis.
constexpr double kFillLow = 0.6;
constexpr double kNearlySufficientRatio = 1.25;  // ratio of a need to the fleet
constexpr uint64_t kGrowthMax = 4;  // maximum factor of one decision
// If the cost of an element in workers' time rises by this factor with more
// workers, the workers hinder each other.
constexpr double kCostRise = 1.3;
// Factor for the computed knee before it is rounded up, so that noise does not
// add a worker.
constexpr double kKnee = 0.95;
constexpr double kRateRise = 1.25;  // rate ratio above which a ceiling ends
constexpr double kRateFall = 0.6;   // and below which it ends, if it lasts
constexpr int kSlowChecks = 2;
// Multiple of the wait target. A shorter wait counts only if two looks in a row
// see it.
constexpr double kClear = 2.5;
constexpr double kActive = 0.2;  // part of the time with a reader
constexpr double kMaxWaitFraction = 0.99;
constexpr absl::Duration kFirstHold = absl::Minutes(30);
constexpr absl::Duration kLastHold = absl::Hours(8);
constexpr size_t kLowsMax = 10'000;
constexpr size_t kNamesMax = 10'000;  // of jobs
// A measurement has this many looks, at least kSampleLeast apart.
constexpr int kSamples = 8;
constexpr absl::Duration kSampleLeast = absl::Seconds(1);
// Elements that come in bursts need a longer measurement. Growth needs a rate
// with this relative standard error, a comparison of two rates the other one.
constexpr double kSpreadToGrow = 0.35;
constexpr double kSpreadToCompare = 0.15;
constexpr double kSpreadSmooth = 0.05;  // of a rate without bursts
constexpr int kMeasureMost = 12;        // intervals
constexpr int kSteadyMost = 6;          // intervals
// Rounding: a smaller part of a worker than this adds no worker.
constexpr double kNegligible = 0.1;

uint64_t WholeWorkers(double workers) {
  return static_cast<uint64_t>(std::ceil(std::max(0.0, workers - 1e-6)));
}

std::string PercentText(double part) {
  return fmt::format("{:.0f} %", 100 * std::clamp(part, 0.0, 1.0));
}

std::string WorkersText(uint64_t workers) {
  return fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
}

std::string JobText(const std::string& name) {
  return name.empty() ? "the group of jobs without a name"
                      : fmt::format("job '{}'", name);
}

// True if the fleet sizes differ by more than 2 %: in a fleet of hundreds, a
// few workers are always missing.
bool Differs(uint64_t a, uint64_t b) {
  return (a > b ? a - b : b - a) > std::max(a, b) / 50;
}

// Factor by which a rate may differ from another one by chance.
double Slack(double spread) {
  return 1 + 2 * std::clamp(spread - kSpreadSmooth, 0.0, 0.5);
}

uint64_t Milli(double value) {
  return static_cast<uint64_t>(std::clamp(value, 0.0, 1e15) * 1e3);
}

uint64_t Seconds(absl::Time time) {
  return static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixSeconds(time)));
}

// A time of the journal, whose numbers may be any.
absl::Time TimeOf(uint64_t seconds) {
  return absl::FromUnixSeconds(
      static_cast<int64_t>(std::min(seconds, uint64_t{1} << 40)));
}

absl::Duration HoldOf(uint64_t seconds) {
  return std::clamp(
      absl::Seconds(static_cast<int64_t>(std::min(seconds, uint64_t{1} << 40))),
      kFirstHold, kLastHold);
}

double Rise(double last, double first) {
  return last < first ? last : last - first;
}

bool AnyIsRead(const ScaleFigures& figures) {
  return std::any_of(figures.jobs.begin(), figures.jobs.end(),
                     [](const auto& job) { return job.readers > 0; });
}

}  // namespace

Autoscaler::Autoscaler(ScaleSettings settings) : settings_(settings) {}

void Autoscaler::Samples::Add(uint64_t elements) {
  const auto more =
      static_cast<double>(elements < last ? elements : elements - last);
  last = elements;
  count += 1;
  sum += more;
  squares += more * more;
}

double Autoscaler::Samples::Spread() const {
  if (sum <= 0) return std::numeric_limits<double>::infinity();
  if (count < 2) return 0;
  const double mean = sum / count;
  const double variance =
      std::max(0.0, squares - count * mean * mean) / (count - 1);
  return std::sqrt(count * variance) / sum;
}

void Autoscaler::Restore(absl::Time now, const ScaleMemory& memory) {
  if (!memory.decided) return;
  wanted_ = Bounded(memory.wanted);
  reason_ = "as before the dispatcher was started again";
  grown_ = now;
  for (const ScaleMemory::Job& job : memory.jobs) {
    if (jobs_.size() >= kNamesMax) break;
    Memory known;
    known.hold = HoldOf(job.hold_s);
    if (job.until_s > 0) {
      known.ceiling = Ceiling{static_cast<double>(job.need_milli) / 1e3,
                              static_cast<double>(job.rate_milli) / 1e3,
                              TimeOf(job.until_s)};
    }
    jobs_.emplace(job.name, std::move(known));
  }
}

ScaleMemory Autoscaler::Remember() const {
  ScaleMemory memory;
  memory.decided = wanted_.has_value();
  memory.wanted = wanted_.value_or(0);
  for (const auto& [name, known] : jobs_) {
    if (!known.ceiling.has_value() && known.hold <= kFirstHold) continue;
    ScaleMemory::Job job;
    job.name = name;
    job.hold_s = static_cast<uint64_t>(absl::ToInt64Seconds(known.hold));
    if (known.ceiling.has_value()) {
      job.need_milli = Milli(known.ceiling->need);
      job.rate_milli = Milli(known.ceiling->rate);
      job.until_s = Seconds(known.ceiling->until);
    }
    memory.jobs.push_back(std::move(job));
  }
  return memory;
}

uint64_t Autoscaler::Bounded(uint64_t workers) const {
  const uint64_t most =
      std::max({settings_.workers_max, settings_.workers_min, uint32_t{1}});
  return std::clamp<uint64_t>(workers, settings_.workers_min, most);
}

const JobScale* Autoscaler::FindJob(const std::string& name) const {
  const auto job = jobs_.find(name);
  return job == jobs_.end() ? nullptr : &job->second.scale;
}

bool Autoscaler::Due(absl::Time now, uint64_t workers) const {
  if (!fleet_.has_value() || Differs(workers, *fleet_)) return true;
  const bool awaited = wanted_.has_value() && workers < *wanted_ &&
                       Differs(workers, *wanted_) &&
                       now < grown_ + settings_.start_time;
  return !awaited && now >= next_;
}

// Begins a measurement.
void Autoscaler::Rebase(absl::Time now, const ScaleFigures& figures) {
  based_ = now;
  next_ = now + SampleTime();
  fleet_ = figures.workers;
  std::map<std::string, Memory> before;
  before.swap(jobs_);
  for (const ScaleFigures::Job& job : figures.jobs) {
    if (jobs_.size() >= kNamesMax) break;
    const auto known = before.find(job.name);
    Memory memory;
    memory.hold = kFirstHold;
    if (known != before.end()) memory = std::move(known->second);
    memory.reader_s = job.reader_s;
    memory.waited_s = job.waited_s;
    memory.elements = job.elements;
    memory.samples = {.last = job.elements};
    jobs_.emplace(job.name, std::move(memory));
  }
}

absl::Duration Autoscaler::SampleTime() const {
  return std::min(settings_.interval,
                  std::max(settings_.interval / kSamples, kSampleLeast));
}

void Autoscaler::Sample(absl::Time now, const ScaleFigures& figures) {
  for (const ScaleFigures::Job& job : figures.jobs) {
    const auto known = jobs_.find(job.name);
    if (known == jobs_.end()) continue;
    Memory& memory = known->second;
    if (memory.samples.count == 0) {
      memory.waited_from_start =
          Rise(job.waited_s, memory.waited_s) >
          settings_.wait_target * Rise(job.reader_s, memory.reader_s);
    }
    memory.samples.Add(job.elements);
  }
  next_ = now + SampleTime();
}

// True if the measurement is shorter than an interval, or too short to know the
// rate of a job that may need more workers.
bool Autoscaler::MeasuresOn(absl::Time now, const ScaleFigures& figures) {
  if (now < based_ + settings_.interval) return true;
  if (now >= based_ + kMeasureMost * settings_.interval) return false;
  if (figures.busy < kBusyToGrow) return false;
  for (const ScaleFigures::Job& job : figures.jobs) {
    const Measured measured = Measure(now, figures, job);
    if (measured.waits <= settings_.wait_target) continue;
    const Memory& memory = *measured.memory;
    const bool compares =
        memory.trial.has_value() || memory.ceiling.has_value();
    const double most = compares ? kSpreadToCompare : kSpreadToGrow;
    if (measured.spread > most) return true;
  }
  return false;
}

// Estimates the time in which a worker makes one burst: n bursts of w workers
// in a time t have the relative standard error 1 / sqrt(n), and w t / n is that
// time.
void Autoscaler::NoteBursts(absl::Time now, const ScaleFigures& figures,
                            const std::vector<Measured>& jobs) {
  burst_ = absl::ZeroDuration();
  for (const Measured& job : jobs) {
    if (!std::isfinite(job.spread) || job.spread <= kSpreadSmooth) continue;
    burst_ = std::max(burst_, (now - based_) * job.spread * job.spread *
                                  static_cast<double>(figures.workers));
  }
  burst_ = std::min(burst_, kSteadyMost * settings_.interval);
}

Autoscaler::Measured Autoscaler::Measure(absl::Time now,
                                         const ScaleFigures& figures,
                                         const ScaleFigures::Job& job) {
  Measured measured;
  measured.job = &job;
  measured.memory = &jobs_[job.name];
  Memory& memory = *measured.memory;
  if (memory.hold == absl::ZeroDuration()) memory.hold = kFirstHold;
  const double seconds = std::max(1e-3, absl::ToDoubleSeconds(now - based_));
  const double reader_s = Rise(job.reader_s, memory.reader_s);
  const double waited_s = Rise(job.waited_s, memory.waited_s);
  const auto elements = static_cast<double>(
      job.elements < memory.elements ? job.elements
                                     : job.elements - memory.elements);
  measured.rate = elements / seconds;
  measured.spread = memory.samples.Spread();
  if (job.readers > 0 && reader_s >= kActive * seconds) {
    measured.waits = std::clamp(waited_s / reader_s, 0.0, 1.0);
  }
  measured.busy_workers = job.busy_workers;
  measured.part = figures.busy <= 0 ? 0 : job.busy_workers / figures.busy;
  measured.wishes = measured.waits > settings_.wait_target &&
                    figures.busy >= kBusyToGrow && measured.rate > 0 &&
                    job.bound_by != BoundBy::kPositions;
  return measured;
}

// Judges what an element costs after the fleet grew because of the job. If the
// workers hinder each other, sets a ceiling.
void Autoscaler::JudgeTrial(absl::Time now, Measured& measured, bool grew) {
  Memory& memory = *measured.memory;
  const std::optional<Trial> trial = std::exchange(memory.trial, std::nullopt);
  if (!trial.has_value() || !grew) return;
  if (measured.waits <= settings_.wait_target) {
    memory.cost_best = 0;
    memory.hold = kFirstHold;
    return;
  }
  if (measured.rate <= 0) return;
  const double before = trial->busy_workers / trial->rate;
  const double cost = measured.busy_workers / measured.rate;
  if (memory.cost_best <= 0 || before < memory.cost_best) {
    memory.cost_best = before;
    memory.cost_spread = trial->spread;
  }
  const double slack = Slack(std::hypot(measured.spread, memory.cost_spread));
  if (cost <= slack * kCostRise * memory.cost_best) {
    if (measured.spread > kSpreadSmooth) measured.cost = memory.cost_best;
    return;
  }
  // The least cost of several measurements is too low by chance.
  const double knee =
      std::min((1 + slack) / 2 * kKnee * measured.rate * memory.cost_best,
               measured.part);
  memory.ceiling = Ceiling{std::max(knee, std::min(trial->part, 1.0)),
                           measured.rate, now + memory.hold, measured.spread};
  memory.hold = std::min(2 * memory.hold, kLastHold);
  knee_ = true;
}

// Drops an outdated ceiling.
void Autoscaler::CheckCeiling(absl::Time now, const Measured& measured) {
  Memory& memory = *measured.memory;
  if (!memory.ceiling.has_value()) return;
  Ceiling& ceiling = *memory.ceiling;
  const double slack = Slack(std::hypot(measured.spread, ceiling.spread));
  const bool faster = measured.rate > slack * kRateRise * ceiling.rate;
  const bool slow = slack * measured.rate < kRateFall * ceiling.rate;
  ceiling.slow_looks = slow ? ceiling.slow_looks + 1 : 0;
  const bool slower = ceiling.slow_looks >= kSlowChecks;
  if (!faster && !slower && now < ceiling.until) return;
  memory.ceiling.reset();
  memory.cost_best = 0;
}

// Computes the job's need for workers, and the reason.
void Autoscaler::Assess(const ScaleFigures& figures, Measured& measured) const {
  Memory& memory = *measured.memory;
  JobScale& scale = memory.scale;
  scale.waits = measured.waits;
  scale.more_workers_help = true;
  const std::string waits =
      fmt::format("waits {} of its time for data", PercentText(measured.waits));
  measured.low = measured.busy_workers / kFillLow;
  measured.need = measured.busy_workers / kFill;
  if (measured.job->readers == 0) {
    scale.reason = "has no reader";
  } else if (measured.waits <= settings_.wait_target) {
    scale.reason = fmt::format("{}, which is no more than {}", waits,
                               PercentText(settings_.wait_target));
  } else if (measured.job->bound_by == BoundBy::kPositions) {
    scale.more_workers_help = false;
    scale.reason = fmt::format(
        "{}, and all positions of its source are being made: more workers do "
        "not help; bound by positions",
        waits);
  } else if (!measured.wishes) {
    scale.more_workers_help = false;
    const char* bound = BoundName(measured.job->bound_by);
    scale.reason = fmt::format(
        "{}, but {} of the workers' threads are free: more workers do not "
        "help; bound by {}",
        waits, PercentText(1 - figures.busy), bound);
  } else {
    const double fed = (1 - std::min(measured.waits, kMaxWaitFraction)) * kFill;
    measured.need = measured.busy_workers / fed;
    // If the fleet nearly suffices at the cost from before it grew, its workers
    // work ahead, behind the lump that the readers wait for.
    const double known = measured.rate * measured.cost / fed;
    if (known > 0 && known < kNearlySufficientRatio * measured.part) {
      measured.need = std::min(measured.need, known);
    }
    measured.low = measured.part;
    scale.reason = fmt::format("{}, and the workers are busy", waits);
  }
  if (!memory.ceiling.has_value()) return;
  measured.low = std::min(measured.low, memory.ceiling->need);
  if (measured.need <= memory.ceiling->need) return;
  measured.need = memory.ceiling->need;
  if (!measured.wishes) return;
  scale.more_workers_help = false;
  scale.reason = fmt::format(
      "{}, but was not faster with more than {}: more workers do not help; "
      "bound by {}",
      waits, WorkersText(WholeWorkers(memory.ceiling->need)),
      BoundName(measured.job->bound_by));
}

uint64_t Autoscaler::Grow(uint64_t workers, std::vector<Measured>& jobs) {
  double need = 0;
  const Measured* most = nullptr;
  for (Measured& job : jobs) {
    need += job.need;
    if (!job.wishes || job.need <= job.part + kNegligible) continue;
    if (most == nullptr || job.need - job.part > most->need - most->part) {
      most = &job;
    }
  }
  const bool slight =
      most != nullptr && most->waits < kClear * settings_.wait_target;
  const bool again = std::exchange(wished_, most != nullptr);
  if (most == nullptr || (slight && !again)) return workers;
  const uint64_t wanted =
      Bounded(std::clamp(WholeWorkers(need), workers + 1,
                         std::max<uint64_t>(1, kGrowthMax * workers)));
  reason_ = fmt::format("{} {}", JobText(most->job->name),
                        most->memory->scale.reason);
  if (wanted <= workers) return wanted;
  for (Measured& job : jobs) {
    if (!job.wishes || job.memory->ceiling.has_value()) continue;
    if (!job.memory->waited_from_start) continue;
    job.memory->trial = Trial{job.busy_workers, job.rate, job.spread, job.part};
  }
  grown_from_ = workers;
  return wanted;
}

// Decides if the fleet does not grow: returns a smaller number of workers once
// that number has sufficed for long enough.
uint64_t Autoscaler::Hold(absl::Time now, uint64_t workers,
                          const std::vector<Measured>& jobs) {
  double low = 0;
  for (const Measured& job : jobs) low += job.low;
  uint64_t enough = WholeWorkers(low);
  const bool read = std::any_of(jobs.begin(), jobs.end(), [](const auto& job) {
    return job.job->readers > 0;
  });
  if (read) enough = std::max<uint64_t>(enough, 1);
  lows_.emplace_back(now, enough);
  while (lows_.size() > kLowsMax ||
         now - lows_.front().first > settings_.down_after) {
    lows_.pop_front();
  }
  const auto most = std::max_element(
      lows_.begin(), lows_.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  const uint64_t fewer = Bounded(knee_ ? enough : most->second);
  if (fewer >= workers) {
    reason_ =
        jobs.empty() ? "no job is read" : "the workers that there are suffice";
    for (const Measured& job : jobs) {
      const bool helps = job.memory->scale.more_workers_help;
      if (helps && !job.wishes) continue;
      const bool bounded = helps && Bounded(workers + 1) <= workers;
      reason_ = fmt::format("{} {}{}", JobText(job.job->name),
                            job.memory->scale.reason,
                            bounded ? "; the upper bound is reached" : "");
    }
    return Bounded(workers);
  }
  const bool lasts = now - same_fleet_since_ >= settings_.down_after;
  if (!knee_ && !lasts) {
    // A smaller number is already wanted, but the fleet has not shrunk yet.
    return wanted_.has_value() && *wanted_ < workers ? std::max(*wanted_, fewer)
                                                     : Bounded(workers);
  }
  reason_ =
      fmt::format("{} suffice{}", WorkersText(fewer), fewer == 1 ? "s" : "");
  for (const Measured& job : jobs) {
    if (job.memory->scale.more_workers_help) continue;
    reason_ =
        fmt::format("{} {}", JobText(job.job->name), job.memory->scale.reason);
  }
  return fewer;
}

uint64_t Autoscaler::Decide(absl::Time now, const ScaleFigures& figures,
                            std::vector<Measured>& jobs) {
  const uint64_t workers = figures.workers;
  if (workers == 0) {
    const bool read = AnyIsRead(figures);
    // If all workers leave at once, they are usually being restarted.
    const bool lasts = now - same_fleet_since_ >= settings_.down_after;
    if (!read && !lasts && wanted_.has_value()) return *wanted_;
    reason_ = read ? "readers wait for a worker" : "no job is read";
    return std::max(Bounded(read ? 1 : 0), read ? wanted_.value_or(0) : 0);
  }
  const uint64_t grown = Grow(workers, jobs);
  if (grown > workers) return std::max(grown, wanted_.value_or(0));
  return Hold(now, workers, jobs);
}

// Divides the wanted workers among the jobs by their need.
void Autoscaler::Share(const std::vector<Measured>& jobs) {
  double need = 0;
  for (const Measured& job : jobs) need += job.need;
  for (const Measured& job : jobs) {
    const double share = need <= 0 ? 0 : job.need / need;
    job.memory->scale.workers_wanted =
        WholeWorkers(share * static_cast<double>(*wanted_));
  }
}

std::optional<std::string> Autoscaler::Look(absl::Time now,
                                            const ScaleFigures& figures) {
  const bool same = fleet_.has_value() && !Differs(figures.workers, *fleet_);
  if (!same) {
    // The fleet changed: earlier measurements no longer apply.
    const bool first = !fleet_.has_value();
    Rebase(now, figures);
    lows_.clear();
    same_fleet_since_ = now;
    steady_ = now + 1.5 * burst_;  // an estimate
    // Readers without a worker cannot be measured: first they get a worker.
    if (first || figures.workers > 0 || !AnyIsRead(figures)) {
      return std::nullopt;
    }
    return Conclude(now, figures);
  }
  Sample(now, figures);
  if (now < steady_) Rebase(now, figures);
  if (MeasuresOn(now, figures)) return std::nullopt;
  return Conclude(now, figures);
}

// Decides by the measurement, and begins the next one.
std::optional<std::string> Autoscaler::Conclude(absl::Time now,
                                                const ScaleFigures& figures) {
  std::vector<Measured> jobs;
  const bool grew = figures.workers > grown_from_;
  knee_ = false;
  for (const ScaleFigures::Job& job : figures.jobs) {
    jobs.push_back(Measure(now, figures, job));
  }
  for (Measured& job : jobs) {
    JudgeTrial(now, job, grew);
    CheckCeiling(now, job);
    Assess(figures, job);
  }
  const uint64_t wanted = Decide(now, figures, jobs);
  const uint64_t before = wanted_.value_or(figures.workers);
  wanted_ = wanted;
  Share(jobs);
  NoteBursts(now, figures, jobs);
  Rebase(now, figures);
  if (wanted == before) return std::nullopt;
  if (wanted > before) grown_ = now;
  ++changes_;
  return fmt::format("wants {} instead of {}: {}", WorkersText(wanted), before,
                     reason_);
}

}  // namespace feedmill

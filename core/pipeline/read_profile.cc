#include "core/pipeline/read_profile.h"

#include <time.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/pipeline/run_delay.h"

namespace feedmill {
namespace {

// Places with the numbers of schemas/data.fbs; steps follow them.
constexpr ReadProfile::Place kFramePlaces[] = {
    ReadProfile::kRest, ReadProfile::kSource, ReadProfile::kChunks};
constexpr uint32_t kFrameSteps = std::size(kFramePlaces);
constexpr size_t kFramePlaceMax = 0xffff;

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

ReadProfile::Cost& ReadProfile::Cost::operator+=(const Cost& other) {
  wall_s += other.wall_s;
  cpu_s += other.cpu_s;
  rows_in += other.rows_in;
  rows_out += other.rows_out;
  bytes_out += other.bytes_out;
  return *this;
}

std::optional<uint32_t> FramePlaceOf(size_t place) {
  if (place >= ReadProfile::kSteps) {
    const size_t named = place - ReadProfile::kSteps + kFrameSteps;
    if (named > kFramePlaceMax) return std::nullopt;
    return static_cast<uint32_t>(named);
  }
  for (uint32_t k = 0; k < kFrameSteps; ++k) {
    if (kFramePlaces[k] == place) return k;
  }
  return std::nullopt;
}

size_t PlaceOfFrame(uint32_t frame_place) {
  if (frame_place < kFrameSteps) return kFramePlaces[frame_place];
  return ReadProfile::kSteps + frame_place - kFrameSteps;
}

constinit thread_local ReadProfile::Lane* ReadProfile::Lane::current_ = nullptr;

ReadProfile::Cost& ReadProfile::Lane::At(size_t place) {
  if (place >= costs_.size()) costs_.resize(place + 1);
  return costs_[place];
}

void ReadProfile::Lane::Add(const std::vector<Cost>& costs) {
  for (size_t place = 0; place < costs.size(); ++place) {
    At(place) += costs[place];
  }
}

void ReadProfile::Lane::Begin() {
  place_ = kRest;
  const double cpu = Seconds(CLOCK_THREAD_CPUTIME_ID);
  const double delay = RunDelaySeconds();
  clock_.Begin(cpu, delay, Seconds(CLOCK_MONOTONIC));
}

void ReadProfile::Lane::Charge() {
  const double cpu = Seconds(CLOCK_THREAD_CPUTIME_ID);
  const double wall = Seconds(CLOCK_MONOTONIC);
  const LaneClock::Interval past = clock_.End(cpu, wall, RunDelaySeconds);
  Cost& cost = At(place_);
  cost.wall_s += past.wall_s;
  cost.cpu_s += past.cpu_s;
  ready_s_ += past.ready_s;
}

size_t ReadProfile::Lane::Enter(size_t place) {
  if (place != place_) Charge();
  return std::exchange(place_, place);
}

ReadProfile::Use::Use(Lane* lane)
    : lane_(lane), before_(std::exchange(Lane::current_, lane)) {
  if (lane_ != nullptr) lane_->Begin();
}

ReadProfile::Use::~Use() {
  if (lane_ != nullptr) lane_->Charge();
  Lane::current_ = before_;
}

ReadProfile::ReadProfile()
    : begun_s_(Seconds(CLOCK_MONOTONIC)),
      begun_cpu_s_(Seconds(CLOCK_PROCESS_CPUTIME_ID)) {}

ReadProfile::Lane* ReadProfile::AddLane(Role role) {
  const std::lock_guard lock(mutex_);
  lanes_.push_back({role, std::make_unique<Lane>()});
  return lanes_.back().lane.get();
}

void ReadProfile::AddWork(size_t place, const Cost& cost) {
  const std::lock_guard lock(mutex_);
  if (place >= works_.size()) works_.resize(place + 1);
  works_[place] += cost;
}

ReadProfile::Sums ReadProfile::Sum() const {
  Sums sums;
  sums.elapsed_s = Seconds(CLOCK_MONOTONIC) - begun_s_;
  sums.process_cpu_s = Seconds(CLOCK_PROCESS_CPUTIME_ID) - begun_cpu_s_;
  const std::lock_guard lock(mutex_);
  size_t places = std::max<size_t>(kSteps, works_.size());
  for (const Owned& owned : lanes_) {
    places = std::max(places, owned.lane->costs_.size());
  }
  sums.reads.resize(places);
  sums.makes.resize(places);
  sums.works = works_;
  sums.works.resize(places);
  for (const Owned& owned : lanes_) {
    const bool makes = owned.role == Role::kMakes;
    if (makes) ++sums.makers;
    (makes ? sums.makes_ready_s : sums.reads_ready_s) += owned.lane->ready_s_;
    auto& costs = makes ? sums.makes : sums.reads;
    for (size_t k = 0; k < owned.lane->costs_.size(); ++k) {
      costs[k] += owned.lane->costs_[k];
    }
  }
  return sums;
}

}  // namespace feedmill

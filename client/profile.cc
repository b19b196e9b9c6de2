#include <time.h>

#include "client/measured_read.h"
#include "client/profile_table.h"
#include "core/base/status.h"
#include "feedmill/reader.h"

namespace feedmill {
namespace {

double SecondsOfClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

absl::Status CheckMeasured(const MeasuredRead& read) {
  if (read.graph == nullptr) {
    return FailedPrecondition(
        "no reader has used this profile: set ReadHooks::profile");
  }
  if (read.profile.use_count() > 1) {
    return FailedPrecondition(
        "a reader still uses this profile: destroy the reader first");
  }
  return absl::OkStatus();
}

ProfiledRead ReadOf(const MeasuredRead& read) {
  return {*read.graph, read.local, read.output, read.verdict};
}

}  // namespace

std::shared_ptr<ReadProfile> MeasurementsOf(const ReadHooks& hooks) {
  return hooks.profile == nullptr ? nullptr : hooks.profile->measured().profile;
}

ReadingLane::Moment ReadingLane::Moment::Now() {
  return {std::this_thread::get_id(), SecondsOfClock(CLOCK_MONOTONIC),
          SecondsOfClock(CLOCK_THREAD_CPUTIME_ID)};
}

ReadingLane::Call::Call(ReadingLane& lane)
    : lane_(lane.lane_ == nullptr || ReadProfile::Lane::Current() != nullptr
                ? nullptr
                : &lane) {
  if (lane_ == nullptr) return;
  if (lane_->left_) {
    const Moment now = Moment::Now();
    ReadProfile::Cost& cost = lane_->lane_->At(ReadProfile::kOutput);
    cost.wall_s += now.wall_s - lane_->left_->wall_s;
    if (now.thread == lane_->left_->thread) {
      cost.cpu_s += now.cpu_s - lane_->left_->cpu_s;
    }
  }
  use_.emplace(lane_->lane_);
}

ReadingLane::Call::~Call() {
  if (lane_ == nullptr) return;
  use_.reset();
  lane_->left_ = Moment::Now();
}

Profile::Profile() : measured_(std::make_unique<MeasuredRead>()) {}

Profile::~Profile() = default;

absl::StatusOr<std::string> Profile::ToText() const {
  FM_RETURN_IF_ERROR(CheckMeasured(*measured_));
  return ProfileTable(ReadOf(*measured_), measured_->profile->Sum());
}

absl::StatusOr<std::string> Profile::ToJson() const {
  FM_RETURN_IF_ERROR(CheckMeasured(*measured_));
  return ProfileJson(ReadOf(*measured_), measured_->profile->Sum());
}

}  // namespace feedmill

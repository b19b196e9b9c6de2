#ifndef FEEDMILL_CORE_PIPELINE_STEP_WATCH_H_
#define FEEDMILL_CORE_PIPELINE_STEP_WATCH_H_

#include <cstddef>

#include "core/pipeline/instructions.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {

// Reports to the thread's profile, if any, which step runs, and how many rows
// enter and leave it.
class StepWatch {
 public:
  explicit StepWatch(size_t first_step)
      : lane_(ReadProfile::Lane::Current()),
        first_place_(ReadProfile::kSteps + first_step) {
    if (lane_ != nullptr) [[unlikely]]
      before_ = lane_->place();
  }
  ~StepWatch() {
    if (lane_ != nullptr) [[unlikely]]
      lane_->Enter(before_);
  }
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  explicit operator bool() const { return lane_ != nullptr; }
  void Begin(size_t step, size_t rows) {
    const size_t place = first_place_ + step;
    if (lane_->place() == place) return;
    lane_->Enter(place);
    lane_->At(place).rows_in += rows;
  }
  // Call it after each instruction; `last`: it is the last one of the step.
  void End(const Instruction& one, const BlockState& state, bool last) {
    ReadProfile::Cost& cost = lane_->At(lane_->place());
    if (state.input->appended != nullptr) {
      cost.bytes_out += state.appended_bytes;
    } else {
      for (const ValueId out : one.outputs) {
        cost.bytes_out += state.values[out]->values.size();
      }
    }
    if (last) cost.rows_out += state.rows;
  }

 private:
  ReadProfile::Lane* const lane_;
  const size_t first_place_;
  size_t before_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STEP_WATCH_H_

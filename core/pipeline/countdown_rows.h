#ifndef FEEDMILL_CORE_PIPELINE_COUNTDOWN_ROWS_H_
#define FEEDMILL_CORE_PIPELINE_COUNTDOWN_ROWS_H_

#include <cstdint>

#include "core/pipeline/client_step.h"

namespace feedmill {

// Counts rows down from a number; each pass begins with that number again.
class CountdownRows : public ClientStep {
 public:
  explicit CountdownRows(uint64_t count) : count_(count), left_(count) {}

  absl::Status OnEndPass() final {
    left_ = count_;
    return absl::OkStatus();
  }
  void Save(StageState::Step& state) const final { state.left = left_; }
  bool Restore(const StageState::Step& state) final {
    left_ = state.left;
    return left_ <= count_;
  }

 protected:
  const uint64_t count_;
  uint64_t left_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_COUNTDOWN_ROWS_H_

#ifndef FEEDMILL_CORE_PIPELINE_RANDOM_BLOCKS_H_
#define FEEDMILL_CORE_PIPELINE_RANDOM_BLOCKS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/philox.h"
#include "core/pipeline/instructions.h"
#include "core/plan/plan.h"

namespace feedmill {

// Computes the Philox blocks of a random call, row by row.
class RandomBlocks {
 public:
  RandomBlocks(const Plan& plan, size_t step, uint64_t ordinal)
      : plan_(plan), step_(step), ordinal_(ordinal) {}

  // Returns the block of record `within` of the row, which may be a batch.
  std::array<uint32_t, 4> Of(BlockState& state, size_t row, size_t within) {
    const size_t origin = state.OriginOf(row);
    const uint64_t pass = state.input->passes[origin];
    if (!have_key_ || pass != pass_) {
      pass_ = pass;
      key_ = plan_.KeyOf(step_, plan_.EpochOf(step_, pass), ordinal_);
      have_key_ = true;
    }
    const Cursor counter = state.input->counters[origin];
    return Philox(key_, counter.p + within, counter.i);
  }

 private:
  const Plan& plan_;
  const size_t step_;
  const uint64_t ordinal_;
  bool have_key_ = false;
  uint64_t pass_ = 0;
  RandomKey key_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RANDOM_BLOCKS_H_

#ifndef FEEDMILL_CORE_PIPELINE_LENGTH_BATCHES_H_
#define FEEDMILL_CORE_PIPELINE_LENGTH_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/type_inference.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/combining_step.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// Returns the length of an element (dataset_options.h), at least 0. DataLoss if
// it is negative.
absl::Status LengthOf(const Column& column, size_t row, uint64_t& length);

// Makes batches of elements by their lengths.
class LengthBatches : public CombiningStep {
 public:
  LengthBatches(const Plan& plan, size_t s, const std::string& component,
                BatchLayout layout, const std::vector<Padding>& padding,
                bool drop_remainder)
      : CombiningStep(plan, s),
        component_(*FindComponent(plan.graph().InputOf(s), component)),
        drop_remainder_(drop_remainder),
        stacker_(layout, padding, plan.graph().InputOf(s)) {}

 protected:
  absl::Status Length(RowRef row, uint64_t& length) const {
    return LengthOf(rows_.ColumnOf(row, component_), row.row, length);
  }
  void QueueGroup(size_t k) {
    const std::vector<RowRef> group = std::exchange(rows_.groups[k], {});
    Queue(group);
  }
  void QueueIncomplete() override {
    for (size_t k = 0; k < rows_.groups.size(); ++k) {
      if (!drop_remainder_ && !rows_.groups[k].empty()) QueueGroup(k);
    }
  }
  absl::Status Combine(const Chunk& rows, std::span<const size_t> groups,
                       std::shared_ptr<const ElementSpec> spec, Chunk& out,
                       size_t& count) const override {
    return stacker_.Stack(rows, groups, std::move(spec), out, count);
  }
  uint64_t CountsAs(size_t rows) const override { return rows; }

 private:
  const size_t component_;
  const bool drop_remainder_;
  const BatchStacker stacker_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LENGTH_BATCHES_H_

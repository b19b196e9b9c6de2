#ifndef FEEDMILL_CORE_PIPELINE_RECORD_INSTRUCTION_H_
#define FEEDMILL_CORE_PIPELINE_RECORD_INSTRUCTION_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/pipeline/instructions.h"

// Instructions of steps on single records: each image or example is processed
// alone, in any number of nested batches.

namespace feedmill {

// The records of a column whose rows are (nested) batches of records.
class Records {
 public:
  Records(const Column& rows, size_t row_count, size_t batches);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  size_t count() const { return count_; }
  const Column& column() const { return *column_; }

  // Returns the row that holds `record`, and the index in the row's first axis.
  std::pair<size_t, size_t> RowOf(size_t record) const;

  // Puts `made`, one row per record, back into batches.
  absl::Status Restack(const Column& made, Column& out,
                       size_t& failed_row) const;

 private:
  size_t RowOfGroup(size_t level, size_t group) const;

  const Column* column_;
  Column unstacked_;
  size_t count_;
  std::vector<std::vector<size_t>> groups_;  // outermost batch first
};

// Splits the rows of input 0 into records, and combines the results into
// batches again.
class RecordInstruction : public Instruction {
 public:
  RecordInstruction(size_t batches, ValueId in, std::vector<ValueId> out)
      : batches_(batches) {
    inputs = {in};
    outputs = std::move(out);
    late = true;
  }

  absl::Status Run(BlockState& state) const override;

 protected:
  // Sets outputs, or returns an error and the index of the failed record.
  virtual absl::Status Compute(const Records& records, BlockState& state,
                               size_t& failed) const = 0;

  // Sets output k to the records in `made`.
  absl::Status SetOutput(size_t k, const Records& records, const Column& made,
                         BlockState& state, size_t& failed) const;

  size_t batches() const { return batches_; }

 private:
  const size_t batches_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RECORD_INSTRUCTION_H_

#ifndef FEEDMILL_CORE_PIPELINE_RECORD_INSTRUCTION_H_
#define FEEDMILL_CORE_PIPELINE_RECORD_INSTRUCTION_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/pipeline/instructions.h"

// Instructions of steps that act on single records: each image or example
// alone, however many batches hold it.

namespace feedmill {

// The records of a column whose rows are batches of batches … of records.
class Records {
 public:
  Records(const Column& rows, size_t row_count, size_t batches);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  size_t count() const { return count_; }
  const Column& column() const { return *column_; }

  // The row that holds `record`, and which of the row's first axis it is in.
  std::pair<size_t, size_t> RowOf(size_t record) const;

  // Puts `made`, a row a record, back into their batches.
  absl::Status Restack(const Column& made, Column& out,
                       size_t& failed_row) const;

 private:
  size_t RowOfGroup(size_t level, size_t group) const;

  const Column* column_;
  Column unstacked_;
  size_t count_;
  std::vector<std::vector<size_t>> groups_;  // outermost batch first
};

// Takes the rows of input 0 apart into records, and puts what is made of them
// together again.
class RecordInstruction : public Instruction {
 public:
  RecordInstruction(size_t batches, ValueId in, std::vector<ValueId> out)
      : batches_(batches) {
    inputs = {in};
    outputs = std::move(out);
  }

  absl::Status Run(BlockState& state) const override;

 protected:
  // Sets outputs, or says which record failed.
  virtual absl::Status Compute(const Records& records, BlockState& state,
                               size_t& failed) const = 0;

  // Makes the records in `made` the rows of output k.
  absl::Status SetOutput(size_t k, const Records& records, const Column& made,
                         BlockState& state, size_t& failed) const;

  size_t batches() const { return batches_; }

 private:
  const size_t batches_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RECORD_INSTRUCTION_H_

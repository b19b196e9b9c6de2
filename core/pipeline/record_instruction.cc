#include "core/pipeline/record_instruction.h"

#include <utility>

#include "core/base/status.h"
#include "core/pipeline/stacking.h"

namespace feedmill {

Records::Records(const Column& rows, size_t row_count, size_t batches)
    : column_(&rows), count_(row_count), groups_(batches) {
  for (std::vector<size_t>& groups : groups_) {
    Column below;
    UnstackRows(*column_, count_, below, groups);
    unstacked_ = std::move(below);
    column_ = &unstacked_;
    count_ = 0;
    for (const size_t group : groups) count_ += group;
  }
}

std::pair<size_t, size_t> Records::RowOf(size_t record) const {
  size_t within = 0;
  for (size_t level = groups_.size(); level-- > 0;) {
    size_t row = 0;
    while (record >= groups_[level][row]) record -= groups_[level][row++];
    within = record;
    record = row;
  }
  return {record, within};
}

absl::Status Records::Restack(const Column& made, Column& out,
                              size_t& failed_row) const {
  Column rows = made;
  for (size_t level = groups_.size(); level-- > 0;) {
    Column above;
    size_t failed = 0;
    const absl::Status status = StackRows(rows, groups_[level], above, failed);
    if (!status.ok()) {
      failed_row = RowOfGroup(level, failed);
      return status;
    }
    rows = std::move(above);
  }
  out = std::move(rows);
  return absl::OkStatus();
}

size_t Records::RowOfGroup(size_t level, size_t group) const {
  while (level-- > 0) {
    size_t row = 0;
    while (group >= groups_[level][row]) group -= groups_[level][row++];
    group = row;
  }
  return group;
}

absl::Status RecordInstruction::Run(BlockState& state) const {
  const Records records(*state.values[inputs[0]], state.rows, batches_);
  size_t failed = 0;
  const absl::Status status = Compute(records, state, failed);
  if (!status.ok()) state.failed_row = records.RowOf(failed).first;
  return status;
}

absl::Status RecordInstruction::SetOutput(size_t k, const Records& records,
                                          const Column& made, BlockState& state,
                                          size_t& failed) const {
  Column& column = state.registers[registers[k]].column;
  size_t failed_row = 0;
  const absl::Status status = records.Restack(made, column, failed_row);
  if (!status.ok()) {
    failed = 0;  // blame the first record of the row
    while (records.RowOf(failed).first != failed_row) ++failed;
    return status;
  }
  state.values[outputs[k]] = &column;
  return absl::OkStatus();
}

}  // namespace feedmill

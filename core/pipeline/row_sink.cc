#include "core/pipeline/row_sink.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/byte_budget.h"

namespace feedmill {
namespace {

using Memory = EncodedColumn::Memory;

// A block becomes a piece of its own from these sizes on: rows in shared
// memory, and rows in mapped files.
constexpr size_t kSharedBytesMin = size_t{1} << 20;
constexpr size_t kMappedBytesMin = size_t{64} << 10;

// True if the column holds exactly `rows` rows. `ragged`: they may differ in
// shape.
bool HoldsRows(const Column& column, size_t rows, bool ragged) {
  size_t items = 0;
  if (column.ragged()) {
    const auto starts = column.row_starts.As<int64_t>();
    if (!ragged || starts.size() != rows + 1 || starts.front() != 0) {
      return false;
    }
    items = static_cast<size_t>(starts.back());
  } else {
    items = rows * static_cast<size_t>(NumItems(column.shape));
  }
  if (column.dtype != DType::kBytes) {
    return column.values.size() == items * ItemSize(column.dtype);
  }
  const auto offsets = column.offsets.As<int64_t>();
  return offsets.size() == items + 1 && offsets.front() == 0 &&
         static_cast<size_t>(offsets.back()) == column.values.size();
}

}  // namespace

RowSink::RowSink(const StageProgram& program, StageScratch& scratch,
                 uint64_t positions, size_t bytes_target)
    : program_(program),
      scratch_(scratch),
      positions_(positions),
      bytes_target_(bytes_target),
      copied_(program.output, scratch.blocks) {}

size_t RowSink::bytes() const {
  size_t bytes = copied_.bytes() + rows() * sizeof(int64_t);
  for (const Column& column : adopted_.columns) bytes += column.values.size();
  for (const BufferBuilder& column : placed_) bytes += column.size();
  return bytes;
}

void RowSink::Reserve() {
  const std::vector<ComponentSpec>& components = program_.output->components;
  if (program_.places) {
    for (size_t c = 0; c < components.size(); ++c) {
      placed_.emplace_back(scratch_.blocks);
    }
  }
  // Strings need about as much as in the last piece.
  for (size_t c = 0; c < scratch_.appended.size() && program_.appends; ++c) {
    if (InPlace(components[c])) continue;
    copied_.ReserveValues(c, scratch_.appended[c] + scratch_.appended[c] / 16);
  }
  if (program_.batches != nullptr || program_.estimated_bytes == 0) return;
  const size_t row_bytes = program_.estimated_bytes + sizeof(int64_t);
  const uint64_t rows =
      std::min<uint64_t>(positions_, bytes_target_ / row_bytes + kBlockRows);
  for (size_t c = 0; c < components.size(); ++c) {
    if (!InPlace(components[c])) continue;
    const size_t each = StaticBytes(components[c]);
    const size_t room = std::min(each * static_cast<size_t>(rows),
                                 bytes_target_ + bytes_beyond());
    if (program_.places) {
      // Runs of records are taken a block at a time, even if little is left.
      const size_t more =
          program_.naming == StageProgram::Naming::kRuns ? kBlockRows : 1;
      placed_[c].Reserve(static_cast<size_t>(
          std::min<uint64_t>({room + more * each, 2 * bytes_target_ + each,
                              ByteBudget::Limit()})));
      continue;
    }
    copied_.ReserveValues(c, room);
  }
}

void RowSink::Prepare(size_t rows) {
  const std::vector<ComponentSpec>& components = program_.output->components;
  scratch_.records_in.appended = program_.appends ? &copied_ : nullptr;
  std::vector<std::byte*>& direct = scratch_.records_in.direct;
  direct.clear();
  for (size_t c = 0; c < placed_.size(); ++c) {
    direct.push_back(placed_[c].Extend(rows * StaticBytes(components[c])));
  }
  if (!program_.records->heavy()) return;
  for (size_t c = 0; c < program_.records->direct().size(); ++c) {
    direct.push_back(program_.records->direct()[c]
                         ? copied_.AppendRow(c, components[c].shape)
                         : nullptr);
  }
}

// Makes the output's columns the chunk. They must have owners, and must fill
// most of the piece, be the `last` ones of it, or be worth a piece of their
// own. Rows in mapped files that pass no step are worth it: the source gives
// only few short blocks of them.
bool RowSink::Adopt(const BlockProgram::Output& out, bool last) {
  InputBlock& block = scratch_.block;
  const bool mapped = block.mapped();
  if (rows() > 0 || (!mapped && scratch_.blocks != block.blocks())) {
    return false;
  }
  size_t bytes = out.rows * sizeof(int64_t);
  bool shared = false;
  bool from_block = false;
  std::vector<size_t> inputs;  // by component: a column of the block, or none
  for (const Column* const column : out.columns) {
    bytes += column->values.size();
    const auto input = std::ranges::find_if(
        block.columns,
        [&](EncodedColumn& one) { return &one.View() == column; });
    inputs.push_back(static_cast<size_t>(input - block.columns.begin()));
    const bool is_input = input != block.columns.end();
    if (!HoldsRows(*column, out.rows, mapped) ||
        !(is_input ? input->CanTake() : column->values.owner() != nullptr)) {
      return false;
    }
    from_block = from_block || is_input;
    shared = shared || (is_input && input->memory() == Memory::kShared);
  }
  const bool free = program_.batches == nullptr && program_.records->empty();
  const bool worth = mapped ? free || bytes >= kMappedBytesMin
                            : shared && bytes >= kSharedBytesMin;
  if (!last && !worth && bytes < bytes_target_ / 4 * 3 &&
      bytes + bytes / out.rows <= bytes_target_) {
    return false;
  }
  const std::vector<Column> taken =
      from_block ? block.Take() : std::vector<Column>();
  for (size_t c = 0; c < inputs.size(); ++c) {
    adopted_.columns.push_back(inputs[c] < taken.size() ? taken[inputs[c]]
                                                        : *out.columns[c]);
  }
  adopted_.spec = program_.output;
  adopted_.rows = out.rows;
  return true;
}

void RowSink::Copy(const BlockProgram::Output& out) {
  const auto& direct = scratch_.records_in.direct;
  for (size_t c = 0; c < out.columns.size(); ++c) {
    const bool written = &out == &scratch_.records_out && !direct.empty() &&
                         direct[c] != nullptr;
    if (!written) copied_.AppendRows(c, *out.columns[c], 0, out.rows);
  }
  copied_.FinishRows(out.rows);
}

// Keeps the rows that were made of the memory extended for all rows.
void RowSink::KeepPlaced() {
  const BlockProgram::Output& out = scratch_.records_out;
  for (size_t c = 0; c < placed_.size(); ++c) {
    const size_t size = StaticBytes(program_.output->components[c]);
    std::byte* const to = scratch_.records_in.direct[c];
    if (out.rows > 0 && size > 0 && out.columns[c]->values.data() != to) {
      std::memcpy(to, out.columns[c]->values.data(), out.rows * size);
    }
    placed_[c].Truncate((placed_rows_ + out.rows) * size);
  }
  placed_rows_ += out.rows;
}

void RowSink::AddRecords(bool last) {
  const BlockProgram::Output& out = scratch_.records_out;
  if (program_.places) return KeepPlaced();
  if (out.rows == 0) return;
  if (program_.appends) return copied_.FinishRows(out.rows);
  if (Adopt(out, last)) return;
  if (program_.records->empty() && rows() == 0) Reserve();
  Copy(out);
}

void RowSink::AddBatches() {
  const BlockProgram::Output& out = scratch_.batches_out;
  if (out.rows > 0 && !Adopt(out, /*last=*/false)) Copy(out);
}

Chunk RowSink::Finish() && {
  if (adopted_.rows > 0) return std::move(adopted_);
  if (placed_rows_ == 0) return std::move(copied_).Finish();
  Chunk chunk{program_.output, placed_rows_, {}};
  for (size_t c = 0; c < placed_.size(); ++c) {
    const ComponentSpec& component = program_.output->components[c];
    chunk.columns.push_back({component.dtype,
                             component.shape,
                             std::move(placed_[c]).Freeze(),
                             {},
                             {},
                             {}});
  }
  return chunk;
}

}  // namespace feedmill

#ifndef FEEDMILL_CORE_PIPELINE_ROW_GROUPS_H_
#define FEEDMILL_CORE_PIPELINE_ROW_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/pipeline/client_step.h"
#include "core/pipeline/read_place.h"

namespace feedmill {

using RowRef = StageState::RowRef;

// Rows of several flows that a step holds, in groups. A flow is kept whole
// until most of its rows are gone. So holding rows needs no copy, and a
// snapshot copies only pointers and numbers.
class RowGroups {
 public:
  explicit RowGroups(const ElementSpec& spec)
      : spec_(std::make_shared<const ElementSpec>(spec)) {}

  // The groups, each in its order. The owner moves rows between them.
  std::vector<std::vector<RowRef>> groups;

  // Begins a flow; At(…) then names its rows.
  void Begin(const Flow& flow);
  RowRef At(size_t row) const {
    return {static_cast<uint32_t>(blocks_.size() - 1),
            static_cast<uint32_t>(row)};
  }
  const Column& ColumnOf(RowRef row, size_t c) const {
    return blocks_[row.block].held->chunk.columns[c];
  }
  uint64_t InputOf(RowRef row) const {
    return blocks_[row.block].InputOf(row.row);
  }
  // Returns the rows, in that order, as a flow. The caller sets its inputs.
  Flow Gather(std::span<const RowRef> rows) const;
  // Returns the number of input rows that have been emitted, if only rows in
  // groups are held and `fed` rows were fed. `in_order`: the oldest row of each
  // group is its first.
  uint64_t Done(uint64_t fed, bool in_order) const;
  // Bytes of all held flows, including rows of no group and shared memory.
  uint64_t BytesAtMost() const { return bytes_; }
  // Bytes of the rows of the largest group. Reads every row.
  uint64_t LargestGroupBytes() const;
  // Drops rows that are in no group. Invalidates all RowRefs outside of
  // `groups`.
  void Compact();

  void Save(StageState::Step& state) const;
  // Restores the groups; false if `state` is inconsistent.
  bool Restore(const StageState::Step& state);

 private:
  struct Block {
    std::shared_ptr<const StageState::Held> held;
    std::vector<uint64_t> inputs;
    uint64_t first_input = 0;
    std::vector<std::vector<Cursor>> origins;  // see Flow::origins

    uint64_t InputOf(size_t row) const {
      return inputs.empty() ? first_input + row : inputs[row];
    }
  };

  size_t Live() const;
  void Add(Block block);

  const std::shared_ptr<const ElementSpec> spec_;
  std::vector<Block> blocks_;
  size_t rows_ = 0;   // of all blocks
  size_t bytes_ = 0;  // of the columns of all blocks
};

// Converts rows from a token to rows of `spec`; nullopt if they do not fit.
// They may have additional components, from versions that also made components
// that no step needs.
std::optional<Chunk> RowsOf(const Chunk& held, const ElementSpec& spec);

// Returns the rows that a step holds, in order, as one chunk.
StageState::Held HeldInOrder(const StageState::Step& state);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ROW_GROUPS_H_

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

// Rows of several flows that wait until it is their turn, in groups. The flows
// stay whole until most of their rows are gone; so holding costs no copy, and
// a snapshot of what is held only one of pointers and numbers.
class RowGroups {
 public:
  explicit RowGroups(const ElementSpec& spec)
      : spec_(std::make_shared<const ElementSpec>(spec)) {}

  // The groups, each in its order: the owner moves the rows about.
  std::vector<std::vector<RowRef>> groups;

  // Begins a flow, whose rows At(…) then names.
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
  // The rows, in that order, as a flow; its inputs are the caller's to set.
  Flow Gather(std::span<const RowRef> rows) const;
  // Input rows that are all out, if none but those in groups are held and
  // `fed` were fed. `in_order`: the oldest row of each group is its first.
  uint64_t Done(uint64_t fed, bool in_order) const;
  // Bytes of the flows that are held, rows of no group and shared memory
  // included.
  uint64_t BytesAtMost() const { return bytes_; }
  // Bytes of the rows of the largest group. Looks at every row.
  uint64_t LargestGroupBytes() const;
  // Forgets what no group holds. No other RowRef is good after it.
  void Compact();

  void Save(StageState::Step& state) const;
  // Makes groups of those sizes; false if they do not fit.
  bool Restore(const StageState::Step& state);

 private:
  struct Block {
    std::shared_ptr<const StageState::Held> held;
    std::vector<uint64_t> inputs;
    uint64_t first_input = 0;
    std::vector<std::vector<Cursor>> origins;  // Flow's

    uint64_t InputOf(size_t row) const {
      return inputs.empty() ? first_input + row : inputs[row];
    }
  };

  size_t Live() const;
  void Add(Block block);

  const std::shared_ptr<const ElementSpec> spec_;
  std::vector<Block> blocks_;
  size_t rows_ = 0;   // of all blocks
  size_t bytes_ = 0;  // of their columns
};

// Rows that a token holds, as rows of `spec`; none if they are not. They may
// have more components, of a time when what nothing needs was made, too.
std::optional<Chunk> RowsOf(const Chunk& held, const ElementSpec& spec);

// The rows that a step holds, in order, as one chunk.
StageState::Held HeldInOrder(const StageState::Step& state);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ROW_GROUPS_H_

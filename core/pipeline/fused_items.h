#ifndef FEEDMILL_CORE_PIPELINE_FUSED_ITEMS_H_
#define FEEDMILL_CORE_PIPELINE_FUSED_ITEMS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/ops/elementwise_chain.h"
#include "core/pipeline/instructions.h"

namespace feedmill {

// Calls that act on each item alone, one after another, and maybe the filter
// behind them, as one pass over tiles in the first-level cache: only what is
// needed later is written out, and what a filter keeps goes straight to where
// it is wanted. They give what they would give one by one.
//
// Thread-safety: immutable; any thread, each with its own BlockState.
class FusedItems {
 public:
  using Instructions = std::span<const std::unique_ptr<Instruction>>;

  // As many as can be fused of `instructions`, which have their registers, from
  // `begin` on; null if the first cannot. What it writes gets registers of its
  // own, from `register_count` on: tiles of others are read while it does.
  // `outputs`: the program's.
  static std::unique_ptr<const FusedItems> Make(
      Instructions instructions, size_t begin, std::span<const ValueId> outputs,
      size_t& register_count);

  // The place of the first instruction that is not in it.
  size_t end() const { return end_; }

  // Whether it reads the value, scalars of int64, and as calls' operands only.
  bool ReadsByTiles(ValueId value) const;

  // False, and nothing done: the instructions have to run one by one, because
  // rows differ in shape or to find which item has no result.
  bool Run(BlockState& state) const;

 private:
  struct Input {
    ValueId value;
    ElementwiseChain::Slot slot;
  };
  struct Output {
    ValueId value;
    ElementwiseChain::Slot slot;
    size_t reg;
    DType dtype;
  };
  // What the filter keeps: of a slot or of a value that is none.
  struct Kept {
    bool in_slot;
    ElementwiseChain::Slot slot;
    ValueId from;
    ValueId to;
    size_t reg;
  };

  FusedItems() = default;
  bool AddCall(const Instruction& instruction);
  bool AddFilter(Instruction& instruction, size_t& register_count);
  void AddOutputs(Instructions instructions, size_t begin,
                  std::span<const ValueId> outputs, size_t& register_count);
  bool Find(ValueId value, ElementwiseChain::Slot& slot) const;

  bool IsProgression(const Input& input, const BlockState& state) const;
  bool Prepare(BlockState& state) const;
  static std::byte* Place(ValueId value, size_t reg, DType dtype,
                          const Shape& shape, size_t bytes, BlockState& state);
  static void Show(ValueId value, size_t reg, DType dtype, const Shape& shape,
                   size_t bytes, BlockState& state);
  void FillTile(size_t begin, size_t n, BlockState& state) const;
  size_t KeepTile(size_t begin, size_t n, size_t kept, BlockState& state) const;
  void FinishFilter(size_t kept, BlockState& state) const;

  ElementwiseChain chain_;
  Shape shape_;  // of each row
  size_t row_items_ = 0;
  std::vector<Input> slots_;   // all values that are slots
  std::vector<Input> inputs_;  // those that come from outside
  std::vector<Output> outputs_;
  bool filters_ = false;
  ElementwiseChain::Slot predicate_ = 0;
  std::vector<Kept> kept_;
  size_t end_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_FUSED_ITEMS_H_

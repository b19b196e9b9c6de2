#ifndef FEEDMILL_CORE_PIPELINE_FUSED_ITEMS_H_
#define FEEDMILL_CORE_PIPELINE_FUSED_ITEMS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/ops/elementwise_chain.h"
#include "core/pipeline/instructions.h"

namespace feedmill {

// Consecutive item-by-item calls, and optionally the filter after them, fused
// into one pass over tiles that fit into the first-level cache. Only values
// that are needed later are written to columns. Rows that the filter keeps are
// written directly to their destination. Results are the same as without
// fusion.
//
// Thread-safety: immutable; any thread, each with its own BlockState.
class FusedItems {
 public:
  using Instructions = std::span<const std::unique_ptr<Instruction>>;

  // Fuses as many of `instructions` as possible, from `begin` on; null if the
  // first cannot be fused. The instructions already have their registers.
  // Outputs get registers of their own, from `register_count` on, because other
  // tiles are still read while they are written. `outputs`: outputs of the
  // program.
  static std::unique_ptr<const FusedItems> Make(
      Instructions instructions, size_t begin, std::span<const ValueId> outputs,
      size_t& register_count);

  // Index of the first instruction that is not fused.
  size_t end() const { return end_; }

  // True if `value` is read as int64 scalars and by operands of calls only.
  bool ReadsByTiles(ValueId value) const;

  // Returns false without any effect if the instructions have to run one by
  // one: rows differ in shape, or the failed item has to be found.
  bool Run(BlockState& state) const;

 private:
  struct Input {
    ValueId value;
    ElementwiseChain::Operand operand;
  };
  struct Output {
    ValueId value;
    ElementwiseChain::Operand operand;
    size_t reg;
    DType dtype;
  };
  // A value that the filter keeps: of the chain, or from outside of it.
  struct KeptValue {
    bool in_chain;
    ElementwiseChain::Operand operand;
    ValueId from;
    ValueId to;
    size_t reg;
  };

  FusedItems() = default;
  bool AddCall(const Instruction& instruction);
  bool AddFilter(Instruction& instruction, size_t& register_count);
  void AddOutputs(Instructions instructions, size_t begin,
                  std::span<const ValueId> outputs, size_t& register_count);
  bool Find(ValueId value, ElementwiseChain::Operand& operand) const;

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
  std::vector<Input> operands_;  // all values of the chain
  std::vector<Input> inputs_;    // values from outside of it
  std::vector<Output> outputs_;
  bool filters_ = false;
  ElementwiseChain::Operand predicate_ = 0;
  std::vector<KeptValue> kept_;
  size_t end_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_FUSED_ITEMS_H_

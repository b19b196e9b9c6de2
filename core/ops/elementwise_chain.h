#ifndef FEEDMILL_CORE_OPS_ELEMENTWISE_CHAIN_H_
#define FEEDMILL_CORE_OPS_ELEMENTWISE_CHAIN_H_

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "core/ops/elementwise.h"
#include "feedmill/chunk.h"

namespace feedmill {

// Calls of element-wise functions that feed one another, run tile by tile: what
// one makes for the next stays in the first-level cache, and everything that
// depends on types is decided once.
//
// Values are slots: inputs, constants, and what calls make.
//
// Thread-safety: immutable after Finish; any thread, each with its own Run.
class ElementwiseChain {
 public:
  using Slot = size_t;
  // A multiple of 64.
  static constexpr size_t kTileItems = 512;

  // Where each slot's items of the tile begin, and memory for those that only
  // calls of this chain read.
  struct Run {
    std::vector<std::byte*> slots;
    BufferBuilder tiles;
  };

  Slot AddInput(DType dtype);
  // REQUIRES: one item, no kBytes; the column lives until Finish.
  Slot AddConstant(const Argument& constant);
  // REQUIRES: one to three operands, not all of them constants; no kBytes.
  Slot AddCall(const ElementwiseCall& call, std::span<const Slot> operands);
  // `given`: what calls make and the caller has room for; all else that they
  // make is in tiles, which those of `read` keep to the end of RunTile.
  void Finish(std::span<const Slot> given, std::span<const Slot> read);

  DType dtype(Slot slot) const { return slots_[slot].dtype; }

  // Makes `run` ready for tiles.
  void Begin(Run& run) const;
  // Computes `n` items. run.slots of inputs and of what was given say where
  // they are; they are read only, and written. False: an item has no result.
  // REQUIRES: n <= kTileItems.
  bool RunTile(const Run& run, size_t n) const;

 private:
  static constexpr size_t kTileBytes = kTileItems * sizeof(uint64_t);
  struct Value {
    DType dtype = DType::kInt64;
    enum class Kind { kOutside, kTile, kConstant } kind = Kind::kOutside;
    size_t tile = 0;     // which of those of a run, or of the constants
    Argument constant;   // of a constant before it is converted
    bool given = false;  // made where the caller wants it
  };
  struct Step {
    Loop loop = nullptr;  // null: converts its operand
    std::array<Slot, 3> operands{};
    size_t count = 0;
    bool last_is_scalar = false;
    Slot out = 0;
  };
  struct alignas(64) ConstantTile {
    std::byte bytes[kTileBytes];
  };

  Slot AddValue(DType dtype);
  Slot OperandAs(Slot slot, DType as);
  std::vector<size_t> LastUses(std::span<const Slot> read) const;

  std::vector<Value> slots_;
  std::vector<Step> steps_;
  std::vector<ConstantTile> constant_tiles_;
  size_t tile_count_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_ELEMENTWISE_CHAIN_H_

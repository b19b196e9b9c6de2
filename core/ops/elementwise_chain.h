#ifndef FEEDMILL_CORE_OPS_ELEMENTWISE_CHAIN_H_
#define FEEDMILL_CORE_OPS_ELEMENTWISE_CHAIN_H_

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "core/ops/elementwise.h"
#include "feedmill/element.h"

namespace feedmill {

// A chain of calls of element-wise functions, run tile by tile. A call's result
// for the next call stays in the first-level cache, and everything that depends
// on types is decided once.
//
// Operands are inputs, constants, and results of calls.
//
// Thread-safety: immutable after Finish; any thread, each with its own Run.
class ElementwiseChain {
 public:
  using Operand = size_t;
  // A multiple of 64.
  static constexpr size_t kTileItems = 512;

  // The address of each operand's items in the current tile, and the memory of
  // results that only calls of this chain read.
  struct Run {
    std::vector<std::byte*> items;
    BufferBuilder tiles;
  };

  Operand AddInput(DType dtype);
  // REQUIRES: one item, not kBytes; the column lives until Finish.
  Operand AddConstant(const Argument& constant);
  // REQUIRES: one to three operands, not all of them constants; no kBytes.
  Operand AddCall(const ElementwiseCall& call,
                  std::span<const Operand> operands);
  // `given`: results that are written to memory of the caller. All other
  // results are in tiles. The tiles of operands in `read` are valid until the
  // end of RunTile.
  void Finish(std::span<const Operand> given, std::span<const Operand> read);

  DType dtype(Operand operand) const { return values_[operand].dtype; }

  // Prepares `run` for tiles.
  void Begin(Run& run) const;
  // Computes `n` items. The caller sets run.items of inputs, which are only
  // read, and of given results, which are written. Returns false if an item has
  // no result. REQUIRES: n <= kTileItems.
  bool RunTile(const Run& run, size_t n) const;

 private:
  static constexpr size_t kTileBytes = kTileItems * sizeof(uint64_t);
  struct Value {
    DType dtype = DType::kInt64;
    enum class Kind { kOutside, kTile, kConstant } kind = Kind::kOutside;
    size_t tile = 0;     // index of the tile in a run, or of the constant tile
    Argument constant;   // of a constant before its conversion
    bool given = false;  // written to memory of the caller
  };
  struct Step {
    Loop loop = nullptr;  // null: converts its operand
    std::array<Operand, 3> operands{};
    size_t count = 0;
    bool last_is_scalar = false;
    Operand out = 0;
  };
  struct alignas(64) ConstantTile {
    std::byte bytes[kTileBytes];
  };

  Operand AddValue(DType dtype);
  Operand OperandAs(Operand operand, DType as);
  std::vector<size_t> LastUses(std::span<const Operand> read) const;

  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<ConstantTile> constant_tiles_;
  size_t tile_count_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_ELEMENTWISE_CHAIN_H_

#include "core/ops/elementwise_chain.h"

#include <cstring>

#include "core/base/check.h"
#include "core/ops/convert_items.h"

namespace feedmill {

ElementwiseChain::Slot ElementwiseChain::AddValue(DType dtype) {
  slots_.emplace_back().dtype = dtype;
  return slots_.size() - 1;
}

ElementwiseChain::Slot ElementwiseChain::AddInput(DType dtype) {
  return AddValue(dtype);
}

ElementwiseChain::Slot ElementwiseChain::AddConstant(const Argument& constant) {
  const Slot slot = AddValue(constant.column->dtype);
  slots_[slot].kind = Value::Kind::kConstant;
  slots_[slot].constant = constant;
  return slot;
}

// Returns the slot converted for a loop; a constant fills a tile of its own.
ElementwiseChain::Slot ElementwiseChain::OperandAs(Slot slot, DType as) {
  if (slots_[slot].kind == Value::Kind::kConstant) {
    const Slot filled = AddValue(as);
    slots_[filled].kind = Value::Kind::kConstant;
    slots_[filled].tile = constant_tiles_.size();
    std::byte* const tile = constant_tiles_.emplace_back().bytes;
    LoadConstant(slots_[slot].constant, as, tile);
    const size_t size = ItemSize(as);
    for (size_t k = 1; k < kTileItems; ++k) {
      std::memcpy(tile + k * size, tile, size);
    }
    return filled;
  }
  if (slots_[slot].dtype == as) return slot;
  Step step;
  step.operands[0] = slot;
  step.count = 1;
  step.out = AddValue(as);
  steps_.push_back(step);
  return step.out;
}

ElementwiseChain::Slot ElementwiseChain::AddCall(
    const ElementwiseCall& call, std::span<const Slot> operands) {
  FM_CHECK(!operands.empty() && operands.size() <= 3);
  if (call.converts && slots_[operands[0]].dtype != call.result) {
    return OperandAs(operands[0], call.result);
  }
  Step step;
  step.count = operands.size();
  for (size_t i = 0; i < step.count; ++i) {
    step.operands[i] = OperandAs(operands[i], call.operands[i]);
  }
  step.last_is_scalar = slots_[operands.back()].kind == Value::Kind::kConstant;
  step.loop = call.loop;
  step.out = AddValue(call.result);
  steps_.push_back(step);
  return step.out;
}

// Returns, for each slot, the index of the last step that reads it.
std::vector<size_t> ElementwiseChain::LastUses(
    std::span<const Slot> read) const {
  std::vector<size_t> last(slots_.size(), 0);
  for (size_t k = 0; k < steps_.size(); ++k) {
    for (size_t i = 0; i < steps_[k].count; ++i) {
      last[steps_[k].operands[i]] = k;
    }
  }
  for (const Slot slot : read) last[slot] = steps_.size();
  return last;
}

void ElementwiseChain::Finish(std::span<const Slot> given,
                              std::span<const Slot> read) {
  for (const Slot slot : given) slots_[slot].given = true;
  std::vector<size_t> last = LastUses(read);
  std::vector<size_t> free;
  for (size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    Value& out = slots_[step.out];
    if (!out.given) {
      out.kind = Value::Kind::kTile;
      // The tile must differ from the operands' tiles: loops do not work in
      // place.
      if (free.empty()) free.push_back(tile_count_++);
      out.tile = free.back();
      free.pop_back();
    }
    for (size_t i = 0; i < step.count; ++i) {
      const Slot slot = step.operands[i];
      if (slots_[slot].kind != Value::Kind::kTile || last[slot] != k) continue;
      free.push_back(slots_[slot].tile);
      last[slot] =
          steps_.size();  // free it once, even if it is an operand twice
    }
  }
}

void ElementwiseChain::Begin(Run& run) const {
  run.slots.assign(slots_.size(), nullptr);
  run.tiles.Reserve(tile_count_ * kTileBytes);
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    const Value& value = slots_[slot];
    if (value.kind == Value::Kind::kTile) {
      run.slots[slot] = run.tiles.data() + value.tile * kTileBytes;
    } else if (value.kind == Value::Kind::kConstant && !value.constant.column) {
      // Loops only read constants.
      run.slots[slot] =
          const_cast<std::byte*>(constant_tiles_[value.tile].bytes);
    }
  }
}

bool ElementwiseChain::RunTile(const Run& run, size_t n) const {
  for (const Step& step : steps_) {
    if (step.loop == nullptr) {
      const Slot from = step.operands[0];
      ConvertItems(slots_[from].dtype, run.slots[from], slots_[step.out].dtype,
                   run.slots[step.out], n);
      continue;
    }
    LoopInputs inputs;
    for (size_t i = 0; i < step.count; ++i) {
      inputs.items[i] = run.slots[step.operands[i]];
    }
    inputs.last_is_scalar = step.last_is_scalar;
    if (step.loop(inputs, run.slots[step.out], n) != n) return false;
  }
  return true;
}

}  // namespace feedmill

#include "core/ops/elementwise_chain.h"

#include <cstring>

#include "core/base/check.h"
#include "core/ops/convert_items.h"

namespace feedmill {

ElementwiseChain::Operand ElementwiseChain::AddValue(DType dtype) {
  values_.emplace_back().dtype = dtype;
  return values_.size() - 1;
}

ElementwiseChain::Operand ElementwiseChain::AddInput(DType dtype) {
  return AddValue(dtype);
}

ElementwiseChain::Operand ElementwiseChain::AddConstant(
    const Argument& constant) {
  const Operand operand = AddValue(constant.column->dtype);
  values_[operand].kind = Value::Kind::kConstant;
  values_[operand].constant = constant;
  return operand;
}

// Returns the operand converted for a loop; a constant fills a tile of its own.
ElementwiseChain::Operand ElementwiseChain::OperandAs(Operand operand,
                                                      DType as) {
  if (values_[operand].kind == Value::Kind::kConstant) {
    const Operand filled = AddValue(as);
    values_[filled].kind = Value::Kind::kConstant;
    values_[filled].tile = constant_tiles_.size();
    std::byte* const tile = constant_tiles_.emplace_back().bytes;
    LoadConstant(values_[operand].constant, as, tile);
    const size_t size = ItemSize(as);
    for (size_t k = 1; k < kTileItems; ++k) {
      std::memcpy(tile + k * size, tile, size);
    }
    return filled;
  }
  if (values_[operand].dtype == as) return operand;
  Step step;
  step.operands[0] = operand;
  step.count = 1;
  step.out = AddValue(as);
  steps_.push_back(step);
  return step.out;
}

ElementwiseChain::Operand ElementwiseChain::AddCall(
    const ElementwiseCall& call, std::span<const Operand> operands) {
  FM_CHECK(!operands.empty() && operands.size() <= 3);
  if (call.converts && values_[operands[0]].dtype != call.result) {
    return OperandAs(operands[0], call.result);
  }
  Step step;
  step.count = operands.size();
  for (size_t i = 0; i < step.count; ++i) {
    step.operands[i] = OperandAs(operands[i], call.operands[i]);
  }
  step.last_is_scalar = values_[operands.back()].kind == Value::Kind::kConstant;
  step.loop = call.loop;
  step.out = AddValue(call.result);
  steps_.push_back(step);
  return step.out;
}

// Returns, for each operand, the index of the last step that reads it.
std::vector<size_t> ElementwiseChain::LastUses(
    std::span<const Operand> read) const {
  std::vector<size_t> last(values_.size(), 0);
  for (size_t k = 0; k < steps_.size(); ++k) {
    for (size_t i = 0; i < steps_[k].count; ++i) {
      last[steps_[k].operands[i]] = k;
    }
  }
  for (const Operand operand : read) last[operand] = steps_.size();
  return last;
}

void ElementwiseChain::Finish(std::span<const Operand> given,
                              std::span<const Operand> read) {
  for (const Operand operand : given) values_[operand].given = true;
  std::vector<size_t> last = LastUses(read);
  std::vector<size_t> free;
  for (size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    Value& out = values_[step.out];
    if (!out.given) {
      out.kind = Value::Kind::kTile;
      // The tile must differ from the operands' tiles: loops do not work in
      // place.
      if (free.empty()) free.push_back(tile_count_++);
      out.tile = free.back();
      free.pop_back();
    }
    for (size_t i = 0; i < step.count; ++i) {
      const Operand operand = step.operands[i];
      if (values_[operand].kind != Value::Kind::kTile || last[operand] != k)
        continue;
      free.push_back(values_[operand].tile);
      last[operand] =
          steps_.size();  // free it once, even if it is an operand twice
    }
  }
}

void ElementwiseChain::Begin(Run& run) const {
  run.items.assign(values_.size(), nullptr);
  run.tiles.Reserve(tile_count_ * kTileBytes);
  for (Operand operand = 0; operand < values_.size(); ++operand) {
    const Value& value = values_[operand];
    if (value.kind == Value::Kind::kTile) {
      run.items[operand] = run.tiles.data() + value.tile * kTileBytes;
    } else if (value.kind == Value::Kind::kConstant && !value.constant.column) {
      // Loops only read constants.
      run.items[operand] =
          const_cast<std::byte*>(constant_tiles_[value.tile].bytes);
    }
  }
}

bool ElementwiseChain::RunTile(const Run& run, size_t n) const {
  for (const Step& step : steps_) {
    if (step.loop == nullptr) {
      const Operand from = step.operands[0];
      ConvertItems(values_[from].dtype, run.items[from],
                   values_[step.out].dtype, run.items[step.out], n);
      continue;
    }
    LoopInputs inputs;
    for (size_t i = 0; i < step.count; ++i) {
      inputs.items[i] = run.items[step.operands[i]];
    }
    inputs.last_is_scalar = step.last_is_scalar;
    if (step.loop(inputs, run.items[step.out], n) != n) return false;
  }
  return true;
}

}  // namespace feedmill

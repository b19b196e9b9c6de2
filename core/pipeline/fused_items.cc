#include "core/pipeline/fused_items.h"

#include <algorithm>

#include "core/ops/selected_rows.h"

namespace feedmill {
namespace {

bool IsFixed(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), kUnknownDim) == shape.end();
}

// Returns the item-by-item loop of a call, or null.
const ElementwiseCompute* LoopOf(const Instruction& instruction) {
  const CallParts call = instruction.call();
  return call.function == nullptr
             ? nullptr
             : call.function->compute.target<ElementwiseCompute>();
}

bool IsSequence(ValueId value, const BlockState& state) {
  return state.EncodingOf(value).kind == Encoding::kSequence;
}

}  // namespace

bool FusedItems::Find(ValueId value, ElementwiseChain::Operand& operand) const {
  const auto found =
      std::find_if(operands_.begin(), operands_.end(),
                   [&](const Input& one) { return one.value == value; });
  if (found == operands_.end()) return false;
  operand = found->operand;
  return true;
}

// Adds the call if each operand is a single constant or has the shape of the
// result. This shape has to equal the shape of all calls so far.
bool FusedItems::AddCall(const Instruction& instruction) {
  const ElementwiseCompute* const compute = LoopOf(instruction);
  if (compute == nullptr) return false;
  const CallParts call = instruction.call();
  const ValueType& type = *call.type;
  if (type.dtype == DType::kBytes || !IsFixed(type.shape)) return false;
  if (row_items_ != 0 && type.shape != shape_) return false;
  std::vector<const ValueType*> types;
  for (const Operand& operand : call.operands) types.push_back(&operand.type);
  bool varies = false;
  for (const Operand& operand : call.operands.first(compute->items())) {
    if (operand.type.dtype == DType::kBytes) return false;
    varies = varies || !operand.constant;
    const bool fits =
        operand.constant
            ? !operand.column->ragged() && NumItems(operand.column->shape) == 1
            : operand.type.shape == type.shape;
    if (!fits) return false;
  }
  const auto resolved = compute->Resolve(types);
  if (!varies || NumItems(type.shape) == 0 || !resolved.ok()) return false;
  shape_ = type.shape;
  row_items_ = static_cast<size_t>(NumItems(shape_));
  std::vector<ElementwiseChain::Operand> operands;
  for (const Operand& operand : call.operands.first(compute->items())) {
    if (operand.constant) {
      operands.push_back(chain_.AddConstant(
          {&operand.type, operand.column.get(), /*constant=*/true}));
      continue;
    }
    if (!Find(operand.value, operands.emplace_back())) {
      operands.back() = chain_.AddInput(operand.type.dtype);
      inputs_.push_back({operand.value, operands.back()});
      operands_.push_back(inputs_.back());
    }
  }
  operands_.push_back(
      {instruction.outputs[0], chain_.AddCall(*resolved, operands)});
  return true;
}

// Adds the filter if its predicate is a scalar that the fused calls make.
bool FusedItems::AddFilter(Instruction& instruction, size_t& register_count) {
  const bool is_filter = instruction.passes_on;
  if (!is_filter || !shape_.empty() ||
      !Find(instruction.inputs[0], predicate_)) {
    return false;
  }
  for (size_t k = 0; k < instruction.outputs.size(); ++k) {
    KeptValue kept{};
    kept.from = instruction.inputs[k + 1];
    kept.to = instruction.outputs[k];
    kept.in_chain = Find(kept.from, kept.operand);
    kept.reg = instruction.registers[k] = register_count++;
    kept_.push_back(kept);
  }
  filters_ = true;
  return true;
}

// Adds the values that the calls make and that later instructions or outputs
// need.
void FusedItems::AddOutputs(Instructions instructions, size_t begin,
                            std::span<const ValueId> outputs,
                            size_t& register_count) {
  const auto needed = [&](ValueId value) {
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) {
      return true;
    }
    return std::any_of(instructions.begin() + static_cast<ptrdiff_t>(end_),
                       instructions.end(), [&](const auto& later) {
                         return std::find(later->inputs.begin(),
                                          later->inputs.end(),
                                          value) != later->inputs.end();
                       });
  };
  for (size_t k = begin; k < end_; ++k) {
    Instruction& one = *instructions[k];
    Output output{};
    output.value = one.outputs.empty() ? 0 : one.outputs[0];
    if (one.passes_on || !needed(output.value)) continue;
    Find(output.value, output.operand);
    output.reg = one.registers[0] = register_count++;
    output.dtype = chain_.dtype(output.operand);
    outputs_.push_back(output);
  }
}

std::unique_ptr<const FusedItems> FusedItems::Make(
    Instructions instructions, size_t begin, std::span<const ValueId> outputs,
    size_t& register_count) {
  std::unique_ptr<FusedItems> fused(new FusedItems());
  size_t at = begin;
  while (at < instructions.size() && fused->AddCall(*instructions[at])) ++at;
  if (at == begin) return nullptr;
  if (at < instructions.size() &&
      fused->AddFilter(*instructions[at], register_count)) {
    ++at;
  }
  fused->end_ = at;
  fused->AddOutputs(instructions, begin, outputs, register_count);
  std::vector<ElementwiseChain::Operand> given;
  for (const Output& output : fused->outputs_) given.push_back(output.operand);
  std::vector<ElementwiseChain::Operand> read;
  if (fused->filters_) read.push_back(fused->predicate_);
  for (const KeptValue& kept : fused->kept_) {
    if (kept.in_chain) read.push_back(kept.operand);
  }
  fused->chain_.Finish(given, read);
  return fused;
}

bool FusedItems::ReadsByTiles(ValueId value) const {
  ElementwiseChain::Operand operand = 0;
  if (!shape_.empty() || !Find(value, operand) ||
      chain_.dtype(operand) != DType::kInt64) {
    return false;
  }
  return std::all_of(kept_.begin(), kept_.end(), [&](const KeptValue& kept) {
    return kept.from != value || kept.in_chain;
  });
}

// Returns the address to which a value's items have to be written.
std::byte* FusedItems::Place(ValueId value, size_t reg, DType dtype,
                             const Shape& shape, size_t bytes,
                             BlockState& state) {
  if (state.direct[value] != nullptr) return state.direct[value];
  OutputColumn& out = state.registers[reg].storage;
  out.Reset(dtype, shape);
  return out.values.Extend(bytes);
}

// Sets the value to the items written there.
void FusedItems::Show(ValueId value, size_t reg, DType dtype,
                      const Shape& shape, size_t bytes, BlockState& state) {
  Register& own = state.registers[reg];
  if (std::byte* const direct = state.direct[value]) {
    own.column =
        Column{dtype, shape, Buffer(nullptr, direct, bytes), {}, {}, {}};
    state.values[value] = &own.column;
  } else {
    own.storage.values.Truncate(bytes);
    state.values[value] = &own.storage.View();
  }
}

// Returns false if an input differs from its type. Otherwise sets the operands
// of outside values to the addresses of their first items.
bool FusedItems::Prepare(BlockState& state) const {
  const size_t items = state.rows * row_items_;
  for (const Input& input : inputs_) {
    if (IsSequence(input.value, state)) continue;
    const Column& column = *state.values[input.value];
    if (column.ragged() || column.shape != shape_) return false;
  }
  chain_.Begin(state.chain);
  std::vector<std::byte*>& addresses = state.chain.items;
  for (const Input& input : inputs_) {
    if (IsSequence(input.value, state)) {
      OutputColumn& tile = state.sequences[input.value];
      tile.Reset(DType::kInt64, {});
      addresses[input.operand] =
          tile.values.Extend(ElementwiseChain::kTileItems * sizeof(uint64_t));
      continue;
    }
    // Chains never write to their inputs.
    addresses[input.operand] =
        const_cast<std::byte*>(state.values[input.value]->values.data());
  }
  for (const Output& output : outputs_) {
    addresses[output.operand] =
        Place(output.value, output.reg, output.dtype, shape_,
              items * ItemSize(output.dtype), state);
  }
  state.targets.clear();
  for (const KeptValue& kept : kept_) {
    const DType dtype =
        kept.in_chain ? chain_.dtype(kept.operand) : DType::kBool;
    state.targets.push_back(kept.in_chain
                                ? Place(kept.to, kept.reg, dtype, shape_,
                                        items * ItemSize(dtype), state)
                                : nullptr);
  }
  if (filters_) state.kept.resize(WordsOf(state.rows));
  return true;
}

// Writes the tile's items of sequences, which no memory has.
void FusedItems::FillTile(size_t begin, size_t n, BlockState& state) const {
  for (const Input& input : inputs_) {
    if (!IsSequence(input.value, state)) continue;
    Encoding rows = state.input->columns[input.value].encoding;
    rows.first += begin * rows.step;
    rows.Fill(reinterpret_cast<uint64_t*>(state.chain.items[input.operand]), n);
  }
}

// Appends the rows of the tile that the filter keeps after the first `kept`
// rows. Returns their number.
size_t FusedItems::KeepTile(size_t begin, size_t n, size_t kept,
                            BlockState& state) const {
  uint64_t* const bits = state.kept.data() + begin / 64;
  const auto* keep =
      reinterpret_cast<const uint8_t*>(state.chain.items[predicate_]);
  const size_t count = SelectRows({keep, n}, bits);
  for (size_t k = 0; k < kept_.size(); ++k) {
    if (!kept_[k].in_chain) continue;
    const size_t size = ItemSize(chain_.dtype(kept_[k].operand));
    CopySelected(bits, n, size, state.chain.items[kept_[k].operand],
                 state.targets[k] + kept * size);
  }
  return count;
}

void FusedItems::FinishFilter(size_t kept, BlockState& state) const {
  for (const KeptValue& one : kept_) {
    if (one.in_chain) {
      const DType dtype = chain_.dtype(one.operand);
      Show(one.to, one.reg, dtype, shape_, kept * ItemSize(dtype), state);
    } else {
      state.SelectValue(one.from, one.to, one.reg, kept);
    }
  }
  if (kept < state.rows) state.KeepRows(kept);
}

bool FusedItems::Run(BlockState& state) const {
  if (!Prepare(state)) return false;
  std::vector<std::byte*>& addresses = state.chain.items;
  const size_t items = state.rows * row_items_;
  size_t kept = 0;
  for (size_t begin = 0; begin < items;) {
    const size_t n = std::min(ElementwiseChain::kTileItems, items - begin);
    FillTile(begin, n, state);
    if (!chain_.RunTile(state.chain, n)) return false;
    if (filters_) kept += KeepTile(begin, n, kept, state);
    for (const Input& input : inputs_) {
      if (IsSequence(input.value, state)) continue;
      addresses[input.operand] += n * ItemSize(chain_.dtype(input.operand));
    }
    for (const Output& output : outputs_) {
      addresses[output.operand] += n * ItemSize(output.dtype);
    }
    begin += n;
  }
  for (const Output& output : outputs_) {
    Show(output.value, output.reg, output.dtype, shape_,
         items * ItemSize(output.dtype), state);
  }
  if (filters_) FinishFilter(kept, state);
  return true;
}

}  // namespace feedmill

#include "core/pipeline/instructions.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/ops/selected_rows.h"
#include "core/pipeline/random_blocks.h"

namespace feedmill {
namespace {

// The caller's memory, as the source of one result.
class FixedBlock final : public BlockSource {
 public:
  FixedBlock(std::byte* block, size_t bytes) : block_(block), bytes_(bytes) {}

  std::byte* Take(size_t bytes) override {
    return bytes < bytes_ + kBufferAlignment ? std::exchange(block_, nullptr)
                                             : nullptr;
  }
  void Shrink(std::byte*, size_t, size_t) override {}
  void Return(std::byte*, size_t) override {}

 private:
  std::byte* block_;
  const size_t bytes_;
};

void ArgumentsOf(std::span<const Operand> operands, const BlockState& state,
                 std::vector<Argument>& arguments) {
  arguments.clear();
  for (const Operand& operand : operands) {
    arguments.push_back(
        {&operand.type,
         operand.constant ? operand.column.get() : state.values[operand.value],
         operand.constant});
  }
}

class Call final : public Instruction {
 public:
  Call(const FunctionRegistry::Function* function,
       std::vector<Operand> arguments, ValueType type, ValueId out)
      : function_(function),
        arguments_(std::move(arguments)),
        type_(std::move(type)) {
    for (const Operand& argument : arguments_) {
      if (!argument.constant) inputs.push_back(argument.value);
    }
    outputs = {out};
    late = function_->heavy || function_->slow;
    makes_boxes = function_->makes_boxes;
  }

  absl::Status Run(BlockState& state) const override {
    ArgumentsOf(arguments_, state, state.arguments);
    std::byte* const direct = state.direct[outputs[0]];
    if (direct != nullptr && Bytes(state.rows) >= BlockSource::kBytesMin) {
      return RunInto(direct, state);
    }
    OutputColumn& out = state.registers[registers[0]].storage;
    out.needed = PixelsReadBy(reader, state);
    const absl::Status status =
        function_->compute(state.arguments, state.rows, type_, out);
    if (!status.ok()) {
      state.failed_row = out.failed_row;
      return status;
    }
    state.values[outputs[0]] = &out.View();
    return absl::OkStatus();
  }

  CallParts call() const override { return {function_, arguments_, &type_}; }
  void ReplaceInput(ValueId from, ValueId to) override {
    Instruction::ReplaceInput(from, to);
    for (Operand& argument : arguments_) {
      if (!argument.constant && argument.value == from) argument.value = to;
    }
  }

 private:
  // Bytes of `rows` results. REQUIRES: the shape is static.
  size_t Bytes(size_t rows) const {
    return rows * static_cast<size_t>(NumItems(type_.shape)) *
           ItemSize(type_.dtype);
  }

  // Has the function write its result directly to `direct`. If the function
  // writes elsewhere, the result is copied. Results that are too small for a
  // BlockSource are copied by the caller.
  absl::Status RunInto(std::byte* direct, BlockState& state) const {
    const size_t bytes = Bytes(state.rows);
    OutputColumn out;
    out.values = BufferBuilder(std::make_shared<FixedBlock>(direct, bytes));
    const absl::Status status =
        function_->compute(state.arguments, state.rows, type_, out);
    if (!status.ok()) {
      state.failed_row = out.failed_row;
      return status;
    }
    FM_CHECK(out.values.size() == bytes);
    if (out.values.data() != direct) {
      std::memcpy(direct, out.values.data(), bytes);
    }
    Column& column = state.registers[registers[0]].column;
    column = Column{type_.dtype, type_.shape, Buffer(nullptr, direct, bytes),
                    {},          {},          {}};
    state.values[outputs[0]] = &column;
    return absl::OkStatus();
  }

  const FunctionRegistry::Function* const function_;
  std::vector<Operand> arguments_;
  const ValueType type_;
};

class Broadcast final : public Instruction {
 public:
  Broadcast(Operand constant, ValueId out) : constant_(std::move(constant)) {
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    const Column& one = *constant_.column;
    OutputColumn& out = state.registers[registers[0]].storage;
    out.Reset(one.dtype, one.shape);
    const auto items = static_cast<size_t>(one.RowItems(0));
    if (one.dtype == DType::kBytes) {
      out.offsets.Push(int64_t{0});
      for (size_t row = 0; row < state.rows; ++row) {
        for (size_t k = 0; k < items; ++k) {
          const std::string_view bytes = one.BytesAt(static_cast<int64_t>(k));
          out.values.Append(bytes.data(), bytes.size());
          out.offsets.Push(static_cast<int64_t>(out.values.size()));
        }
      }
    } else {
      const size_t size = items * ItemSize(one.dtype);
      std::byte* to = out.values.Extend(state.rows * size);
      for (size_t row = 0; row < state.rows && size > 0; ++row, to += size) {
        std::memcpy(to, one.values.data(), size);
      }
    }
    state.values[outputs[0]] = &out.View();
    return absl::OkStatus();
  }

 private:
  const Operand constant_;
};

// Gathers rows of any column, including ragged ones and byte strings.
void GatherRows(const Column& in, std::span<const uint32_t> rows,
                OutputColumn& out) {
  const bool bytes = in.dtype == DType::kBytes;
  const size_t size = ItemSize(in.dtype);
  if (bytes) out.offsets.Push(int64_t{0});
  if (in.ragged()) out.row_starts.Push(int64_t{0});
  int64_t items = 0;
  for (const uint32_t row : rows) {
    const int64_t start = in.RowStart(row);
    const int64_t count = in.RowItems(row);
    if (bytes) {
      for (int64_t k = start; k < start + count; ++k) {
        const std::string_view item = in.BytesAt(k);
        out.values.Append(item.data(), item.size());
        out.offsets.Push(static_cast<int64_t>(out.values.size()));
      }
    } else {
      out.values.Append(in.values.data() + static_cast<size_t>(start) * size,
                        static_cast<size_t>(count) * size);
    }
    items += count;
    if (in.ragged()) {
      const auto dims = in.RowDims(row);
      out.row_shapes.Append(dims.data(), dims.size_bytes());
      out.row_starts.Push(items);
    }
  }
}

class Filter final : public Instruction {
 public:
  Filter(std::vector<ValueId> in, std::vector<ValueId> out) {
    FM_CHECK(in.size() == out.size() + 1);
    inputs = std::move(in);
    outputs = std::move(out);
    passes_on = true;
  }

  absl::Status Run(BlockState& state) const override {
    const auto keep =
        state.values[inputs[0]]->values.As<uint8_t>().first(state.rows);
    state.kept.resize(WordsOf(state.rows));
    const size_t count = SelectRows(keep, state.kept.data());
    for (size_t k = 0; k < outputs.size(); ++k) {
      state.SelectValue(inputs[k + 1], outputs[k], registers[k], count);
    }
    if (count < state.rows) state.KeepRows(count);
    return absl::OkStatus();
  }
};

class RandomBitsCall final : public Instruction {
 public:
  RandomBitsCall(size_t step_index, uint64_t ordinal,
                 std::shared_ptr<const Plan> plan, ValueId out)
      : ordinal_(ordinal), plan_(std::move(plan)) {
    step = step_index;
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    OutputColumn& own = state.registers[registers[0]].storage;
    const ValueType type = RandomBitsType();
    own.Reset(type.dtype, type.shape);
    RandomBlocks random(*plan_, step, ordinal_);
    for (size_t row = 0; row < state.rows; ++row) {
      own.values.Push(random.Of(state, row, 0));
    }
    state.values[outputs[0]] = &own.View();
    return absl::OkStatus();
  }

 private:
  const uint64_t ordinal_;
  const std::shared_ptr<const Plan> plan_;
};

}  // namespace

const std::vector<uint32_t>& BlockState::Origins() {
  if (!numbered_) NumberRows(bits, origins_);
  numbered_ = true;
  return origins_;
}

void BlockState::KeepRows(size_t count) {
  if (!dropped) {
    bits.swap(kept);
  } else {
    const std::vector<uint32_t>& before = Origins();
    std::vector<uint32_t> numbers;
    NumberRows(kept, numbers);
    std::fill(bits.begin(), bits.end(), 0);
    for (const uint32_t number : numbers) {
      const uint32_t row = before[number];
      bits[row / 64] |= uint64_t{1} << (row % 64);
    }
  }
  numbered_ = false;
  dropped = true;
  rows = count;
}

void BlockState::SelectValue(ValueId from, ValueId to, size_t reg,
                             size_t count) {
  if (count == rows) {
    values[to] = values[from];
    return;
  }
  const Column& in = *values[from];
  OutputColumn& out = registers[reg].storage;
  const bool dense = in.dtype != DType::kBytes && !in.ragged();
  if (!dense) {
    std::vector<uint32_t> numbers;
    NumberRows(kept, numbers);
    out.Reset(in.dtype, in.shape);
    GatherRows(in, numbers, out);
    values[to] = &out.View();
    return;
  }
  const size_t size =
      static_cast<size_t>(NumItems(in.shape)) * ItemSize(in.dtype);
  if (direct[to] != nullptr) {
    CopySelected(kept.data(), rows, size, in.values.data(), direct[to]);
    Column& column = registers[reg].column;
    column =
        Column{in.dtype, in.shape, Buffer(nullptr, direct[to], count * size),
               {},       {},       {}};
    values[to] = &column;
    return;
  }
  out.Reset(in.dtype, in.shape);
  CopySelected(kept.data(), rows, size, in.values.data(),
               out.values.Extend(rows * size));
  out.values.Truncate(count * size);
  values[to] = &out.View();
}

BoxOfImage PixelsReadBy(const Instruction* reader, const BlockState& state) {
  if (reader == nullptr) return nullptr;
  const CallParts call = reader->call();
  std::vector<Argument> arguments;
  ArgumentsOf(call.operands, state, arguments);
  return
      [&box = call.function->box, arguments = std::move(arguments)](
          size_t row, ImageSize image) { return box(arguments, row, image); };
}

std::unique_ptr<Instruction> MakeCall(
    const FunctionRegistry::Function* function, std::vector<Operand> arguments,
    ValueType type, ValueId out) {
  return std::make_unique<Call>(function, std::move(arguments), std::move(type),
                                out);
}

std::unique_ptr<Instruction> MakeBroadcast(Operand constant, ValueId out) {
  return std::make_unique<Broadcast>(std::move(constant), out);
}

std::unique_ptr<Instruction> MakeFilter(std::vector<ValueId> inputs,
                                        std::vector<ValueId> outputs) {
  return std::make_unique<Filter>(std::move(inputs), std::move(outputs));
}

std::unique_ptr<Instruction> MakeRandomBits(size_t step_index, uint64_t ordinal,
                                            std::shared_ptr<const Plan> plan,
                                            ValueId out) {
  return std::make_unique<RandomBitsCall>(step_index, ordinal, std::move(plan),
                                          out);
}

}  // namespace feedmill

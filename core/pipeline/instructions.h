#ifndef FEEDMILL_CORE_PIPELINE_INSTRUCTIONS_H_
#define FEEDMILL_CORE_PIPELINE_INSTRUCTIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/ops/elementwise_chain.h"
#include "core/ops/example_parser.h"
#include "core/ops/image.h"
#include "core/pipeline/block_program.h"
#include "core/plan/plan.h"
#include "feedmill/element.h"

namespace feedmill {

// A value of a program: a component of its input, or an output of an
// instruction. Each value is written once per block; several values share a
// register one after another.
using ValueId = size_t;

// Memory of one value at a time.
struct Register {
  OutputColumn storage;
  Column column;  // the value, if it is not storage.View()
};

// A thread's parser of one step, and the sizes of its last columns.
struct Parsing {
  Parsing(ExampleParser of, size_t columns)
      : parser(std::move(of)), bytes(columns) {}

  ExampleParser parser;
  std::vector<size_t> bytes;
  std::vector<std::string_view> records;  // of the current block
};

class Instruction;

// The state of a run over one block.
struct BlockState {
  const BlockProgram::Input* input = nullptr;
  size_t rows = 0;
  std::vector<const Column*> values;  // by ValueId
  std::vector<Register> registers;
  std::vector<std::byte*> direct;  // by ValueId: address to write to, or null
  // Bit r is set if input row r is still present; used if a row was dropped.
  std::vector<uint64_t> bits;
  bool dropped = false;
  size_t failed_row = 0;      // index among the current rows, after an error
  size_t appended_bytes = 0;  // bytes of values in input->appended

  // Returns the encoding of a value; plain, unless it is an input.
  const Encoding& EncodingOf(ValueId value) const {
    static constexpr Encoding kPlain;
    return value < input->columns.size() ? input->columns[value].encoding
                                         : kPlain;
  }

  // Numbers of the input rows that are still present, computed on demand.
  const std::vector<uint32_t>& Origins();
  size_t OriginOf(size_t row) { return dropped ? Origins()[row] : row; }
  // Keeps only the `count` rows whose bits in `kept` are set. REQUIRES: fewer
  // than there were.
  void KeepRows(size_t count);
  // Sets value `to` to those `count` rows of value `from`.
  void SelectValue(ValueId from, ValueId to, size_t reg, size_t count);

  // Memory of one instruction at a time.
  std::vector<Argument> arguments;
  std::vector<uint64_t> kept;
  ElementwiseChain::Run chain;
  std::vector<OutputColumn> sequences;  // items of inputs that are sequences
  std::vector<std::byte*> targets;
  std::optional<ImageDecoder> decoder;
  std::map<const Instruction*, Parsing> parsers;

 private:
  std::vector<uint32_t> origins_;
  bool numbered_ = false;  // origins_ matches `bits`
};

// An argument of an expression: a value, or a constant of one row.
struct Operand {
  ValueType type;
  bool constant = false;
  ValueId value = 0;
  std::shared_ptr<const Column> column;  // only if constant
};

// A call of a function, for the fusion of instructions.
struct CallParts {
  const FunctionRegistry::Function* function = nullptr;  // null: not a call
  std::span<const Operand> operands;
  const ValueType* type = nullptr;
};

// One instruction of a program. Immutable.
class Instruction {
 public:
  virtual ~Instruction() = default;
  // Reads input values and writes output values. On DataLoss, sets
  // state.failed_row.
  virtual absl::Status Run(BlockState& state) const = 0;
  virtual CallParts call() const { return {}; }
  // Reads the value with another number from now on.
  virtual void ReplaceInput(ValueId from, ValueId to) {
    std::replace(inputs.begin(), inputs.end(), from, to);
  }

  size_t step = 0;  // index as written
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<size_t> registers;  // one per output
  // The output takes over the register of input 0, whose last use this is.
  bool in_place = false;
  // Output k may be the column of input k + 1 itself (a filter that drops
  // nothing).
  bool passes_on = false;
  // Appends to input->appended, if that is set, instead of setting outputs.
  bool appends = false;
  // Makes only the pixels that `reader` reads.
  bool makes_boxes = false;
  // The call of one box that alone reads the output, the next instruction.
  const Instruction* reader = nullptr;
  // Takes long: a filter that does not need it runs before it.
  bool late = false;
};

// Returns the pixels that the call reads; null if `reader` is null.
BoxOfImage PixelsReadBy(const Instruction* reader, const BlockState& state);

std::unique_ptr<Instruction> MakeCall(
    const FunctionRegistry::Function* function, std::vector<Operand> arguments,
    ValueType type, ValueId out);
// Returns an instruction that repeats a constant for every row.
std::unique_ptr<Instruction> MakeBroadcast(Operand constant, ValueId out);
// Returns an instruction that keeps the rows of inputs 1, 2, … whose predicate,
// input 0, is true.
std::unique_ptr<Instruction> MakeFilter(std::vector<ValueId> inputs,
                                        std::vector<ValueId> outputs);
// Returns an instruction that computes the random bits of each row, for the
// call with that ordinal in the step.
std::unique_ptr<Instruction> MakeRandomBits(size_t step_index, uint64_t ordinal,
                                            std::shared_ptr<const Plan> plan,
                                            ValueId out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INSTRUCTIONS_H_

#ifndef FEEDMILL_CORE_PIPELINE_INSTRUCTIONS_H_
#define FEEDMILL_CORE_PIPELINE_INSTRUCTIONS_H_

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
#include "feedmill/chunk.h"

namespace feedmill {

// A value of a program: a component of its input, or what an instruction
// makes. Each is written once per block; several share a register in turn.
using ValueId = size_t;

// Memory that holds one value at a time.
struct Register {
  OutputColumn storage;
  Column column;  // what readers see, where it is not storage.View()
};

// A thread's parser of one step, and how large its last columns were.
struct Parsing {
  Parsing(ExampleParser of, size_t columns)
      : parser(std::move(of)), bytes(columns) {}

  ExampleParser parser;
  std::vector<size_t> bytes;
  std::vector<std::string_view> records;  // of the block that is parsed
};

class Instruction;

// The state of a run over one block.
struct BlockState {
  const BlockProgram::Input* input = nullptr;
  size_t rows = 0;
  std::vector<const Column*> values;  // by ValueId
  std::vector<Register> registers;
  std::vector<std::byte*> direct;  // by ValueId: where to write it, or null
  // The rows of those that came in that are left, if any was dropped.
  std::vector<uint64_t> bits;
  bool dropped = false;
  size_t failed_row = 0;      // of the rows now, after an error
  size_t appended_bytes = 0;  // of values, to input->appended

  // The same rows by their numbers, which are found when they are asked for.
  const std::vector<uint32_t>& Origins();
  size_t OriginOf(size_t row) { return dropped ? Origins()[row] : row; }
  // Makes the `count` rows whose bits in `kept` are set those that are left.
  // REQUIRES: fewer than there were.
  void KeepRows(size_t count);
  // Makes value `to` what those `count` rows have of value `from`.
  void SelectValue(ValueId from, ValueId to, size_t reg, size_t count);

  // Memory for one instruction at a time.
  std::vector<Argument> arguments;
  std::vector<uint64_t> kept;
  ElementwiseChain::Run chain;
  OutputColumn progression;  // items of input->progression
  std::vector<std::byte*> targets;
  std::optional<ImageDecoder> decoder;
  std::map<const Instruction*, Parsing> parsers;

 private:
  std::vector<uint32_t> origins_;
  bool numbered_ = false;  // origins_ are those of `bits`
};

// What an expression's argument is: a value, or a constant of one row.
struct Operand {
  ValueType type;
  bool constant = false;
  ValueId value = 0;
  std::shared_ptr<const Column> column;  // constant only
};

// A call of a function, as what fuses instructions sees it.
struct CallParts {
  const FunctionRegistry::Function* function = nullptr;  // null: it is no call
  std::span<const Operand> operands;
  const ValueType* type = nullptr;
};

// One step of a program. Immutable.
class Instruction {
 public:
  virtual ~Instruction() = default;
  // Reads values and writes others; on DataLoss, state.failed_row is set.
  virtual absl::Status Run(BlockState& state) const = 0;
  virtual CallParts call() const { return {}; }

  size_t step = 0;  // as written
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<size_t> registers;  // one per output
  // The output takes over the register of input 0, which ends here.
  bool in_place = false;
  // Output k may be the very column of input k + 1 (a filter drops nothing).
  bool passes_on = false;
  // Appends to input->appended instead of setting outputs, if there is one.
  bool appends = false;
};

std::unique_ptr<Instruction> MakeCall(
    const FunctionRegistry::Function* function, std::vector<Operand> arguments,
    ValueType type, ValueId out);
// Repeats a constant for every row.
std::unique_ptr<Instruction> MakeBroadcast(Operand constant, ValueId out);
// Keeps the rows where the predicate is true, of inputs 1, 2, …
std::unique_ptr<Instruction> MakeFilter(std::vector<ValueId> inputs,
                                        std::vector<ValueId> outputs);
// The random bits of each row, of the call with that ordinal in the step.
std::unique_ptr<Instruction> MakeRandomBits(size_t step_index, uint64_t ordinal,
                                            std::shared_ptr<const Plan> plan,
                                            ValueId out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INSTRUCTIONS_H_

#include "core/pipeline/block_program.h"

#include <algorithm>
#include <utility>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/pipeline/instructions.h"
#include "core/pipeline/program_builder.h"
#include "core/pipeline/program_code.h"
#include "core/pipeline/step_watch.h"

namespace feedmill {

class BlockProgram::Scratch {
 public:
  BlockState state;
};

namespace {

// Writes the items of sequences to columns, for instructions that run without
// fusion.
void WriteSequences(BlockState& state) {
  for (size_t c = 0; c < state.input->columns.size(); ++c) {
    const Encoding& encoding = state.input->columns[c].encoding;
    if (encoding.kind != Encoding::kSequence) continue;
    OutputColumn& plain = state.sequences[c];
    plain.Reset(DType::kInt64, {});
    encoding.Fill(reinterpret_cast<uint64_t*>(
                      plain.values.Extend(state.rows * sizeof(uint64_t))),
                  state.rows);
    state.values[c] = &plain.View();
  }
}

bool LastOfStep(const ProgramCode& code, size_t k) {
  return k + 1 == code.instructions.size() ||
         code.instructions[k + 1]->step != code.instructions[k]->step;
}

// Outputs that are inputs outlive the slices made here, so they refer to the
// whole columns. The following rows are not read.
void KeepSliced(const std::vector<Column>& fewer,
                const BlockProgram::Input& input, BlockState& state) {
  for (const Column*& value : state.values) {
    for (size_t c = 0; c < fewer.size(); ++c) {
      if (value == &fewer[c]) value = input.columns[c].column;
    }
  }
}

void SetDirect(const ProgramCode& code, const BlockProgram::Input& input,
               BlockState& state) {
  std::fill(state.direct.begin(), state.direct.end(), nullptr);
  if (input.direct.empty()) return;
  for (size_t c = 0; c < code.outputs.size(); ++c) {
    state.direct[code.outputs[c]] = input.direct[c];
  }
  // If an instruction runs in place, its input is written to the address of
  // its output.
  for (size_t at = code.instructions.size(); at-- > 0;) {
    const Instruction& one = *code.instructions[at];
    if (one.in_place) {
      state.direct[one.inputs[0]] = state.direct[one.outputs[0]];
    }
  }
}

// Sets `running` to the index of the current instruction.
absl::Status RunInstructions(const ProgramCode& code,
                             const BlockProgram::Input& input, size_t rows,
                             BlockState& state, BlockProgram::Output& output,
                             size_t& running) {
  state.input = &input;
  state.rows = rows;
  state.dropped = false;
  std::vector<Column> fewer(rows < input.rows ? input.columns.size() : 0);
  for (size_t c = 0; c < input.columns.size(); ++c) {
    const EncodedView& column = input.columns[c];
    state.values[c] =
        fewer.empty() ? column.column : column.Slice(0, rows, fewer[c]).column;
  }
  SetDirect(code, input, state);
  StepWatch watch(code.first_step);
  for (size_t k = 0; k < code.instructions.size(); ++k) {
    running = k;
    // With a profile, instructions run one by one, so that it can separate
    // their steps.
    const FusedItems* const fused = code.fused[k].get();
    if (fused != nullptr && !watch && fused->Run(state)) {
      k = fused->end() - 1;
      if (state.rows == 0) break;
      continue;
    }
    if (k == 0) WriteSequences(state);
    const auto& instruction = code.instructions[k];
    if (watch) [[unlikely]]
      watch.Begin(instruction->step, state.rows);
    const absl::Status status = instruction->Run(state);
    if (!status.ok()) {
      const size_t row = std::min(state.failed_row, state.rows - 1);
      output.failed_row = state.OriginOf(row);
      output.failed_step = instruction->step;
      return status;
    }
    if (watch) [[unlikely]]
      watch.End(*instruction, state, LastOfStep(code, k));
    if (state.rows == 0) break;
  }
  KeepSliced(fewer, input, state);
  return absl::OkStatus();
}

// If one row alone is too large, it is an error of the row. Several rows may
// only be too large together; then the caller computes fewer of them.
absl::Status RunOnce(const ProgramCode& code, const BlockProgram::Input& input,
                     size_t rows, BlockState& state,
                     BlockProgram::Output& output) {
  size_t running = 0;
  try {
    return RunInstructions(code, input, rows, state, output, running);
  } catch (const MemoryRefused& refused) {
    if (rows > 1 || !refused.over_limit()) throw;
    output.failed_row = 0;
    output.failed_step = code.instructions[running]->step;
    return StatusOf(refused);
  }
}

}  // namespace

BlockProgram::BlockProgram(std::shared_ptr<const FunctionRegistry> registry,
                           ProgramCode code)
    : registry_(std::move(registry)),
      code_(std::make_unique<const ProgramCode>(std::move(code))) {}

BlockProgram::~BlockProgram() = default;

std::shared_ptr<BlockProgram::Scratch> BlockProgram::NewScratch() const {
  auto scratch = std::make_shared<Scratch>();
  scratch->state.registers.resize(code_->register_count);
  scratch->state.values.resize(code_->value_count);
  scratch->state.direct.resize(code_->value_count);
  scratch->state.sequences.resize(code_->takes.size());
  return scratch;
}

void BlockProgram::Run(const Input& input, Scratch& scratch,
                       Output& output) const {
  BlockState& state = scratch.state;
  output.error = absl::OkStatus();
  size_t rows = input.rows;
  // After an error, the rows before the failed one run again: one of them may
  // fail in a later step, and then its error comes first.
  while (rows > 0) {
    const absl::Status status = RunOnce(*code_, input, rows, state, output);
    if (status.ok()) break;
    output.error = status;
    rows = std::min(rows - 1, output.failed_row);
  }
  const bool appended = input.appended != nullptr;
  output.columns.resize(appended ? 0 : code_->outputs.size());
  if (rows == 0) {
    output.rows = 0;
    output.dropped = false;
    return;
  }
  output.rows = state.rows;
  output.dropped = state.dropped;
  output.origins = {};
  if (state.dropped && input.numbered) output.origins = state.Origins();
  output.kept = state.bits;
  for (size_t c = 0; c < output.columns.size(); ++c) {
    output.columns[c] = state.values[code_->outputs[c]];
  }
}

bool BlockProgram::empty() const { return code_->passes; }
bool BlockProgram::heavy() const { return code_->heavy; }
bool BlockProgram::paced() const { return code_->heavy && !code_->by_call; }
size_t BlockProgram::rows_together() const { return code_->rows; }
bool BlockProgram::filters() const { return code_->filters; }
const std::vector<BlockProgram::Moved>& BlockProgram::moved() const {
  return code_->moved;
}
bool BlockProgram::random() const { return code_->random; }
const std::vector<Encoding::Kinds>& BlockProgram::takes() const {
  return code_->takes;
}
bool BlockProgram::appends() const { return code_->appends; }
const std::vector<bool>& BlockProgram::direct() const { return code_->direct; }
const std::vector<bool>& BlockProgram::placed() const { return code_->placed; }

absl::StatusOr<std::shared_ptr<const BlockProgram>> BlockProgram::Make(
    std::shared_ptr<const Plan> plan,
    std::shared_ptr<const FunctionRegistry> registry, std::vector<size_t> steps,
    const ElementSpec& input, bool in_order, const ElementSpec* output) {
  ProgramBuilder builder(std::move(plan), *registry, input, in_order);
  for (const size_t step : steps) FM_RETURN_IF_ERROR(builder.AddStep(step));
  if (output != nullptr) builder.Keep(*output);
  return std::shared_ptr<const BlockProgram>(std::make_shared<BlockProgram>(
      std::move(registry), std::move(builder).Finish()));
}

}  // namespace feedmill

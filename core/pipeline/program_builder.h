#ifndef FEEDMILL_CORE_PIPELINE_PROGRAM_BUILDER_H_
#define FEEDMILL_CORE_PIPELINE_PROGRAM_BUILDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/function_registry.h"
#include "core/pipeline/instructions.h"
#include "core/pipeline/program_code.h"
#include "core/plan/plan.h"
#include "feedmill/element.h"

namespace feedmill {

// Compiles steps on single elements to the instructions of a block program.
// StepKind::Compile replaces components by values that its instructions make.
// Not thread-safe.
class ProgramBuilder {
 public:
  // `in_order`: filters run where they are written; see BlockProgram::Make.
  // REQUIRES: `functions` outlives the program.
  ProgramBuilder(std::shared_ptr<const Plan> plan,
                 const FunctionRegistry& functions, const ElementSpec& input,
                 bool in_order);

  // Compiles graph.steps[s] of the plan.
  absl::Status AddStep(size_t s);
  // Continues with the components of `output` only.
  void Keep(const ElementSpec& output);
  ProgramCode Finish() &&;

  // ---- for StepKind::Compile: about the current step
  size_t step() const { return step_; }
  // Number of leading dimensions of the components that are batches.
  size_t batches() const { return batches_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  const FunctionRegistry& functions() const { return functions_; }
  // The output of the step, without components that no later step needs.
  const ElementSpec& made() const { return *made_; }
  // The values of the components: the input of the step, until the step sets
  // its outputs.
  std::vector<ValueId>& components() { return components_; }

  ValueId NewValue() { return next_value_++; }
  void Emit(std::unique_ptr<Instruction> instruction);
  // Sets the components of made(). A component without an expression keeps its
  // value. Expressions of components that made() lacks are skipped.
  absl::Status SetOutputs(const Outputs& outputs);
  // Sets the values of the components of made().
  void SetComponents(std::vector<ValueId> values);
  // Returns the value of an expression; a constant is repeated for every row.
  absl::StatusOr<ValueId> CompileValue(const Expr& expr);
  // Returns the value of a bool; false where it is null.
  absl::StatusOr<ValueId> CompilePredicate(const Expr& expr);
  // Keeps the components of made(), and the rows for which `keep`, one bool a
  // row, is true. Earlier instructions that take long, and that `keep` does not
  // need, run after it.
  void KeepRowsWhere(ValueId keep);
  // Keeps the components of made(). Returns the index of `component` among
  // them; nullopt if no step needs it, so that the step has nothing to do.
  std::optional<size_t> Touch(const std::string& component);

  // ---- properties of the program from now on
  void SetHeavy() { SetHeavyRows(1); }
  // The same for a step that costs less if up to `rows` rows run together.
  // `by_call`: a call costs much, however few rows it has.
  void SetHeavyRows(size_t rows, bool by_call = false) {
    code_.heavy = true;
    code_.by_call = code_.by_call || by_call;
    code_.rows = std::min(code_.rows, rows);
  }
  void SetFilters() { code_.filters = true; }
  // Instructions read the counters and passes of rows.
  void SetRandom() { code_.random = true; }
  // The first instruction reads `value` also in this encoding, if it is an
  // input of the program. REQUIRES: only this instruction reads it.
  void SetTakes(ValueId value, Encoding::Kind kind) {
    if (code_.instructions.empty()) code_.takes[value] |= kind;
  }

  // ---- properties of a value
  // The value's rows have one size and can be written directly to the output.
  void MarkPlaced(ValueId value) { placed_.push_back(value); }
  // The value is dense and has a register of its own.
  void MarkOwned(ValueId value) { owned_.push_back(value); }
  // Each row of the value can be written directly into the output chunk.
  void MarkInPlace(ValueId value) { resized_.push_back(value); }
  bool IsOwned(ValueId value) const { return Contains(owned_, value); }
  bool IsInPlace(ValueId value) const { return Contains(resized_, value); }
  // True if only one component has this value.
  bool IsOnlyUser(ValueId value) const;

 private:
  static bool Contains(const std::vector<ValueId>& values, ValueId value);

  absl::StatusOr<Operand> Compile(const Expr& expr);
  absl::StatusOr<ValueId> CompileWithoutNulls(const Expr& expr);
  absl::StatusOr<Operand> CompileCall(
      const std::string& name, std::vector<Operand> arguments,
      std::optional<Operand> bits = std::nullopt);
  absl::StatusOr<Operand> CompileComponent(const std::string& name);
  Operand DrawRandomBits();
  uint64_t RandomCallsIn(const Expr& expr) const;
  void FindDirect();
  std::vector<size_t> LastUses() const;
  void AssignRegisters();
  void Fuse();
  bool IsReadByTiles(ValueId input, const FusedItems& fused) const;

  const std::shared_ptr<const Plan> plan_;
  const FunctionRegistry& functions_;
  const bool in_order_;
  ElementSpec spec_;                   // of the current components
  const ElementSpec* made_ = nullptr;  // output of step_
  std::vector<ValueId> components_;
  size_t input_count_ = 0;
  size_t next_value_ = 0;
  size_t step_ = 0;
  uint64_t random_calls_ = 0;         // in step_ so far
  size_t batches_ = 0;                // before step_
  std::vector<ValueId> owned_;        // dense, in registers of their own
  std::vector<ValueId> resized_;      // values that may be written in place
  std::vector<ValueId> large_calls_;  // same, for calls with large rows
  std::vector<ValueId> placed_;       // values made by filters and calls
  ProgramCode code_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PROGRAM_BUILDER_H_

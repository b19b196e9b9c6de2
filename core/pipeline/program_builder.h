#ifndef FEEDMILL_CORE_PIPELINE_PROGRAM_BUILDER_H_
#define FEEDMILL_CORE_PIPELINE_PROGRAM_BUILDER_H_

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
#include "feedmill/element_spec.h"

namespace feedmill {

// Compiles steps of single elements to the instructions of a block program.
// StepKind::Compile replaces the components by values that its instructions
// make. Not thread-safe.
class ProgramBuilder {
 public:
  // REQUIRES: `functions` outlives the program.
  ProgramBuilder(std::shared_ptr<const Plan> plan,
                 const FunctionRegistry& functions, const ElementSpec& input);

  // Compiles graph.steps[s] of the plan.
  absl::Status AddStep(size_t s);
  // Goes on with those components alone that `output` has.
  void Keep(const ElementSpec& output);
  ProgramCode Finish() &&;

  // ---- for StepKind::Compile: the step that is being compiled
  size_t step() const { return step_; }
  // Leading dimensions of the components that are batches.
  size_t batches() const { return batches_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  // What leaves the step, without the components that nothing needs.
  const ElementSpec& made() const { return *made_; }
  // The values of the components: those that enter until the step sets them.
  std::vector<ValueId>& components() { return components_; }
  // True if no instruction was added, so that the step reads what enters the
  // program.
  bool empty() const { return code_.instructions.empty(); }

  ValueId NewValue() { return next_value_++; }
  void Emit(std::unique_ptr<Instruction> instruction);
  // Replaces the components by those expressions, as far as made() has them.
  absl::Status SetOutputs(const Outputs& outputs);
  // The value of an expression; constants are repeated for every row.
  absl::StatusOr<ValueId> CompileValue(const Expr& expr);
  // Keeps the components of made(). Returns the place of `component` among
  // them, or nothing if nothing needs it: then the step has nothing to do.
  std::optional<size_t> Touch(const std::string& component);

  // ---- what is true of the program from now on
  void SetHeavy() { code_.heavy = true; }
  void SetFilters() { code_.filters = true; }
  // Instructions read the counters and passes of the rows.
  void SetRandom() { code_.random = true; }
  // The first instruction leaves out bytes at the end of each row.
  void SetTakesTrailing(bool takes) { code_.takes_trailing = takes; }

  // ---- what is true of a value
  // Its rows are of one size, and can be written where the output is to be:
  void MarkPlaced(ValueId value) { placed_.push_back(value); }
  // it is dense, in a register of its own:
  void MarkOwned(ValueId value) { owned_.push_back(value); }
  // each row can be written into the chunk that is made.
  void MarkInPlace(ValueId value) { resized_.push_back(value); }
  bool IsOwned(ValueId value) const { return Contains(owned_, value); }
  bool IsInPlace(ValueId value) const { return Contains(resized_, value); }
  // True if only one component has this value.
  bool IsOnlyUser(ValueId value) const;

 private:
  static bool Contains(const std::vector<ValueId>& values, ValueId value);

  absl::StatusOr<Operand> Compile(const Expr& expr);
  absl::StatusOr<Operand> CompileRemainderTest(const Expr::Call& call);
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
  bool IsReadByTiles(const FusedItems* fused) const;

  const std::shared_ptr<const Plan> plan_;
  const FunctionRegistry& functions_;
  ElementSpec spec_;                   // of the components now
  const ElementSpec* made_ = nullptr;  // by step_
  std::vector<ValueId> components_;
  size_t input_count_ = 0;
  size_t next_value_ = 0;
  size_t step_ = 0;
  uint64_t random_calls_ = 0;         // in step_
  size_t batches_ = 0;                // before step_
  std::vector<ValueId> owned_;        // in a register of their own, dense
  std::vector<ValueId> resized_;      // may be written in place
  std::vector<ValueId> large_calls_;  // these, too: rows worth it
  std::vector<ValueId> placed_;       // by filters and calls
  ProgramCode code_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PROGRAM_BUILDER_H_

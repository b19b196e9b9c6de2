#include "core/pipeline/program_builder.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/nullable.h"
#include "core/dataset/step_kind.h"
#include "core/dataset/type_inference.h"
#include "core/ops/constant_column.h"
#include "core/ops/image_libraries.h"
#include "core/ops/row_items.h"
#include "core/pipeline/image_parts.h"
#include "core/pipeline/late_instructions.h"

namespace feedmill {
namespace {

constexpr size_t kNoRegister = std::numeric_limits<size_t>::max();

Operand Constant(ValueType type, Column column) {
  return {std::move(type), true, 0,
          std::make_shared<const Column>(std::move(column))};
}

Operand LiteralOperand(const Expr::Literal& literal) {
  return Constant(LiteralType(literal), ConstantColumn(literal));
}

absl::StatusOr<Operand> Fold(const FunctionRegistry::Function& function,
                             const std::vector<Operand>& arguments,
                             const ValueType& type) {
  std::vector<Argument> values;
  for (const Operand& argument : arguments) {
    values.push_back({&argument.type, argument.column.get(), true});
  }
  // Larger constants are computed for each row that needs them, under its
  // limit.
  constexpr uint64_t kFoldedBytesMax = uint64_t{64} << 20;
  const ByteBudget budget(kFoldedBytesMax);
  try {
    OutputColumn out;
    FM_RETURN_IF_ERROR(function.compute(values, 1, type, out));
    return Constant(type, out.Take());
  } catch (const MemoryRefused& refused) {
    return StatusOf(refused);
  }
}

// Returns the steps of these instructions, each once.
std::vector<size_t> StepsOf(const InstructionList& instructions) {
  std::vector<size_t> steps;
  for (const auto& one : instructions) {
    if (steps.empty() || steps.back() != one->step) steps.push_back(one->step);
  }
  return steps;
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::shared_ptr<const Plan> plan,
                               const FunctionRegistry& functions,
                               const ElementSpec& input, bool in_order)
    : plan_(std::move(plan)),
      functions_(functions),
      in_order_(in_order),
      spec_(input) {
  UseImageLibraries();
  for (size_t c = 0; c < input.components.size(); ++c) {
    components_.push_back(NewValue());
  }
  input_count_ = components_.size();
  code_.takes.assign(input_count_, Encoding::kPlain);
}

absl::Status ProgramBuilder::AddStep(size_t s) {
  step_ = s;
  random_calls_ = 0;
  const AnalyzedGraph& graph = plan_->graph();
  const AnalyzedStep& analyzed = graph.steps[s];
  batches_ = analyzed.batches_before;
  made_ = analyzed.mapped != nullptr ? analyzed.mapped.get()
                                     : analyzed.output.get();
  const Step& step = graph.graph.steps[s];
  FM_RETURN_IF_ERROR(step.kind().Compile(step.options(), *this));
  spec_ = *made_;
  if (components_.size() != spec_.components.size()) {
    return Internal("step {} makes {} components instead of {}", s,
                    components_.size(), spec_.components.size());
  }
  return absl::OkStatus();
}

void ProgramBuilder::Keep(const ElementSpec& output) {
  std::vector<ValueId> kept;
  for (const ComponentSpec& c : output.components) {
    kept.push_back(components_[static_cast<size_t>(spec_.Find(c.name))]);
  }
  components_ = std::move(kept);
  spec_ = output;
}

void ProgramBuilder::KeepRowsWhere(ValueId keep) {
  Keep(made());
  InstructionList late;
  if (!in_order_) late = TakeLate(code_.instructions, keep);
  std::vector<ValueId> inputs{keep};
  std::vector<ValueId> outputs;
  const auto filtered = [&](ValueId value) {
    inputs.push_back(value);
    return outputs.emplace_back(NewValue());
  };
  for (ValueId& component : components_) {
    const bool made_later = std::any_of(
        late.begin(), late.end(),
        [&](const auto& one) { return Contains(one->outputs, component); });
    if (made_later) continue;
    component = filtered(component);
    MarkPlaced(component);
  }
  for (const ValueId read : ReadBy(late)) {
    const auto known = std::find(inputs.begin() + 1, inputs.end(), read);
    const ValueId value =
        known == inputs.end()
            ? filtered(read)
            : outputs[static_cast<size_t>(known - inputs.begin() - 1)];
    for (const auto& one : late) one->ReplaceInput(read, value);
    if (read < input_count_) code_.takes[read] = Encoding::kPlain;
  }
  Emit(MakeFilter(std::move(inputs), std::move(outputs)));
  if (!late.empty()) code_.moved.push_back({step_, StepsOf(late)});
  std::move(late.begin(), late.end(), std::back_inserter(code_.instructions));
  SetFilters();
}

ProgramCode ProgramBuilder::Finish() && {
  code_.outputs = components_;
  code_.passes =
      code_.instructions.empty() && components_.size() == input_count_;
  for (size_t c = 0; c < components_.size(); ++c) {
    code_.passes = code_.passes && components_[c] == c;
  }
  code_.first_step = plan_->graph().first_step;
  code_.appends = code_.instructions.size() == 1 &&
                  code_.instructions[0]->appends &&
                  code_.instructions[0]->outputs == code_.outputs;
  if (!in_order_) NeedFewerPixels(code_);
  FindDirect();
  AssignRegisters();
  Fuse();
  code_.value_count = next_value_;
  return std::move(code_);
}

void ProgramBuilder::Emit(std::unique_ptr<Instruction> instruction) {
  instruction->step = step_;
  code_.instructions.push_back(std::move(instruction));
}

absl::Status ProgramBuilder::SetOutputs(const Outputs& outputs) {
  std::vector<std::optional<ValueId>> made(made_->components.size());
  for (const auto& [name, expr] : outputs) {
    const int found = made_->Find(name);
    if (found < 0) {  // no step needs it
      random_calls_ += RandomCallsIn(expr);
      continue;
    }
    FM_ASSIGN_OR_RETURN(const NullableExpr split,
                        SplitNulls(expr, spec_, functions_));
    FM_ASSIGN_OR_RETURN(made[static_cast<size_t>(found)],
                        CompileWithoutNulls(split.value));
    const int validity = FindValidity(*made_, name);
    if (!split.valid || validity < 0) continue;
    FM_ASSIGN_OR_RETURN(made[static_cast<size_t>(validity)],
                        CompileWithoutNulls(*split.valid));
  }
  std::vector<ValueId> values;
  for (size_t c = 0; c < made.size(); ++c) {
    if (!made[c].has_value()) {
      FM_ASSIGN_OR_RETURN(const size_t kept,
                          FindComponent(spec_, made_->components[c].name));
      made[c] = components_[kept];
    }
    values.push_back(*made[c]);
  }
  SetComponents(std::move(values));
  return absl::OkStatus();
}

void ProgramBuilder::SetComponents(std::vector<ValueId> values) {
  components_ = std::move(values);
  spec_ = *made_;
}

std::optional<size_t> ProgramBuilder::Touch(const std::string& component) {
  Keep(*made_);
  const auto found = FindComponent(spec_, component);
  return found.ok() ? std::optional(*found) : std::nullopt;
}

bool ProgramBuilder::IsOnlyUser(ValueId value) const {
  return std::count(components_.begin(), components_.end(), value) == 1;
}

bool ProgramBuilder::Contains(const std::vector<ValueId>& values,
                              ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Compiles to a value of its own; constants are repeated for every row.
absl::StatusOr<ValueId> ProgramBuilder::CompileValue(const Expr& expr) {
  FM_ASSIGN_OR_RETURN(const NullableExpr split,
                      SplitNulls(expr, spec_, functions_));
  return CompileWithoutNulls(split.value);
}

absl::StatusOr<ValueId> ProgramBuilder::CompilePredicate(const Expr& expr) {
  FM_ASSIGN_OR_RETURN(const Expr predicate,
                      TrueAndValid(expr, spec_, functions_));
  return CompileWithoutNulls(predicate);
}

absl::StatusOr<ValueId> ProgramBuilder::CompileWithoutNulls(const Expr& expr) {
  FM_ASSIGN_OR_RETURN(Operand operand, Compile(expr));
  if (!operand.constant) return operand.value;
  const ValueId out = NewValue();
  Emit(MakeBroadcast(std::move(operand), out));
  return out;
}

absl::StatusOr<Operand> ProgramBuilder::Compile(const Expr& expr) {
  if (const auto* literal = std::get_if<Expr::Literal>(&expr.node())) {
    return LiteralOperand(*literal);
  }
  if (const auto* name = std::get_if<Expr::Component>(&expr.node())) {
    return CompileComponent(name->name);
  }
  const auto& call = std::get<Expr::Call>(expr.node());
  const auto* function = functions_.Find(call.function);
  std::optional<Operand> bits;
  if (function != nullptr && function->random) bits = DrawRandomBits();
  std::vector<Operand> arguments;
  for (const Expr& argument : call.arguments) {
    FM_ASSIGN_OR_RETURN(arguments.emplace_back(), Compile(argument));
  }
  return CompileCall(call.function, std::move(arguments), std::move(bits));
}

// `bits`: random bits of a random function.
absl::StatusOr<Operand> ProgramBuilder::CompileCall(
    const std::string& name, std::vector<Operand> arguments,
    std::optional<Operand> bits) {
  std::vector<ValueType> types;
  bool constant = !bits;
  for (const Operand& operand : arguments) {
    constant = constant && operand.constant;
    types.push_back(operand.type);
  }
  FM_ASSIGN_OR_RETURN(ValueType type, InferCall(name, types, functions_));
  if (type.literal) return LiteralOperand(*type.literal);
  if (bits) arguments.insert(arguments.begin(), *std::move(bits));
  const auto* function = functions_.Find(name);
  // A constant has one shape. If a dimension is known only by running the call,
  // each row runs it.
  if (constant && function->pure && !HasUnknownDim(type.shape)) {
    auto folded = Fold(*function, arguments, type);
    // If folding fails, the first row that needs the value reports the error.
    if (folded.ok()) return folded;
  }
  if (function->heavy) SetHeavy();
  Operand result{type, false, NewValue(), nullptr};
  if (type.dtype != DType::kBytes && !HasUnknownDim(type.shape)) {
    const auto items = static_cast<size_t>(NumItems(type.shape));
    if (items * ItemSize(type.dtype) >= BlockSource::kBytesMin) {
      large_calls_.push_back(result.value);
    }
  }
  placed_.push_back(result.value);
  auto call =
      MakeCall(function, std::move(arguments), std::move(type), result.value);
  call->late = call->late || Contains(large_calls_, result.value);
  Emit(std::move(call));
  return result;
}

// The ordinal of a random call is its index among the random calls of its step
// as written; a call comes before the calls in its arguments.
Operand ProgramBuilder::DrawRandomBits() {
  Operand bits{RandomBitsType(), false, NewValue(), nullptr};
  Emit(MakeRandomBits(step_, random_calls_++, plan_, bits.value));
  code_.random = true;
  return bits;
}

uint64_t ProgramBuilder::RandomCallsIn(const Expr& expr) const {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return 0;
  const auto* function = functions_.Find(call->function);
  uint64_t calls = function != nullptr && function->random ? 1 : 0;
  for (const Expr& one : call->arguments) calls += RandomCallsIn(one);
  return calls;
}

absl::StatusOr<Operand> ProgramBuilder::CompileComponent(
    const std::string& name) {
  const auto found = FindComponent(spec_, name);
  if (!found.ok()) {
    if (IsTypeWord(name)) return LiteralOperand(Expr::Literal{name});
    return found.status();
  }
  ValueType type;
  type.dtype = spec_.components[*found].dtype;
  type.shape = spec_.components[*found].shape;
  type.logical = spec_.components[*found].logical;
  return Operand{std::move(type), false, components_[*found], nullptr};
}

void ProgramBuilder::FindDirect() {
  for (size_t c = 0; c < components_.size(); ++c) {
    const ValueId value = components_[c];
    const bool only_user =
        std::count(components_.begin(), components_.end(), value) == 1;
    const bool large = Contains(large_calls_, value);
    code_.direct.push_back(batches_ == 0 && !code_.filters && only_user &&
                           (large || Contains(resized_, value)) &&
                           spec_.components[c].IsStatic());
    code_.placed.push_back(batches_ == 0 && only_user &&
                           Contains(placed_, value) &&
                           spec_.components[c].dtype != DType::kBytes &&
                           spec_.components[c].IsStatic());
    // Large rows are processed one by one, directly in the chunk, because
    // copying them would cost more than the calls.
    if (large && code_.direct.back()) SetHeavy();
  }
}

// Returns, for each value, the index of the last instruction that needs it.
std::vector<size_t> ProgramBuilder::LastUses() const {
  const size_t end = code_.instructions.size();
  std::vector<size_t> last(next_value_, 0);
  for (size_t at = 0; at < end; ++at) {
    for (const ValueId in : code_.instructions[at]->inputs) last[in] = at;
  }
  for (const ValueId out : code_.outputs) last[out] = end;
  // A filter that drops nothing passes the registers of its inputs on.
  for (size_t at = end; at-- > 0;) {
    const Instruction& one = *code_.instructions[at];
    if (!one.passes_on) continue;
    for (size_t k = 0; k < one.outputs.size(); ++k) {
      size_t& in = last[one.inputs[k + 1]];
      in = std::max(in, last[one.outputs[k]]);
    }
  }
  return last;
}

void ProgramBuilder::AssignRegisters() {
  const std::vector<size_t> last = LastUses();
  std::vector<size_t> of(next_value_, kNoRegister);
  std::vector<size_t> free;
  for (size_t at = 0; at < code_.instructions.size(); ++at) {
    Instruction& one = *code_.instructions[at];
    for (const ValueId out : one.outputs) {
      if (one.in_place) {
        of[out] = std::exchange(of[one.inputs[0]], kNoRegister);
      } else if (free.empty()) {
        of[out] = code_.register_count++;
      } else {
        of[out] = free.back();
        free.pop_back();
      }
      one.registers.push_back(of[out]);
    }
    for (ValueId value = input_count_; value < next_value_; ++value) {
      if (of[value] == kNoRegister || last[value] > at) continue;
      free.push_back(std::exchange(of[value], kNoRegister));
    }
  }
}

void ProgramBuilder::Fuse() {
  code_.fused.resize(code_.instructions.size());
  for (size_t at = 0; at < code_.instructions.size();) {
    auto fused = FusedItems::Make(code_.instructions, at, code_.outputs,
                                  code_.register_count);
    const size_t next = fused != nullptr ? fused->end() : at + 1;
    for (ValueId in = 0; at == 0 && fused != nullptr && in < input_count_;
         ++in) {
      if (IsReadByTiles(in, *fused)) code_.takes[in] |= Encoding::kSequence;
    }
    code_.fused[at] = std::move(fused);
    at = next;
  }
}

// True if the input is an int64 column that only `fused`, the first
// instructions of the program, reads tile by tile.
bool ProgramBuilder::IsReadByTiles(ValueId input,
                                   const FusedItems& fused) const {
  if (!fused.ReadsByTiles(input) || Contains(code_.outputs, input)) {
    return false;
  }
  for (size_t at = fused.end(); at < code_.instructions.size(); ++at) {
    if (Contains(code_.instructions[at]->inputs, input)) return false;
  }
  return true;
}

}  // namespace feedmill

#include "core/pipeline/program_compiler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/type_inference.h"
#include "core/ops/constant_column.h"
#include "core/ops/divisible.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

constexpr size_t kNoRegister = std::numeric_limits<size_t>::max();

class Compiler {
 public:
  Compiler(std::shared_ptr<const Plan> plan, const FunctionRegistry& registry,
           const ElementSpec& input)
      : plan_(std::move(plan)), registry_(registry), spec_(input) {
    for (size_t c = 0; c < input.components.size(); ++c) {
      components_.push_back(NewValue());
    }
    input_count_ = components_.size();
  }

  absl::Status AddStep(size_t s) {
    step_ = s;
    random_calls_ = 0;
    const AnalyzedGraph& graph = plan_->graph();
    const AnalyzedStep& step = graph.steps[s];
    batches_ = step.batches_before;
    made_ = step.mapped != nullptr ? step.mapped.get() : step.output.get();
    FM_RETURN_IF_ERROR(std::visit([&](const auto& one) { return Add(one); },
                                  graph.graph.steps[s]));
    spec_ = *made_;
    if (components_.size() != spec_.components.size()) {
      return Internal("step {} makes {} components instead of {}", s,
                      components_.size(), spec_.components.size());
    }
    return absl::OkStatus();
  }

  // Goes on with those components alone that `output` has.
  void Keep(const ElementSpec& output) {
    std::vector<ValueId> kept;
    for (const ComponentSpec& c : output.components) {
      kept.push_back(components_[static_cast<size_t>(spec_.Find(c.name))]);
    }
    components_ = std::move(kept);
    spec_ = output;
  }

  ProgramCode Finish() && {
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
    FindDirect();
    AssignRegisters();
    Fuse();
    code_.value_count = next_value_;
    return std::move(code_);
  }

 private:
  ValueId NewValue() { return next_value_++; }

  void Emit(std::unique_ptr<Instruction> instruction) {
    instruction->step = step_;
    code_.instructions.push_back(std::move(instruction));
  }

  // ---- steps
  absl::Status Add(const MapStep& step) { return AddOutputs(step.outputs); }

  // What takes it apart is a step of the client.
  absl::Status Add(const FlatMapStep& step) { return AddOutputs(step.outputs); }

  // It marks the steps before it, and does nothing itself.
  absl::Status Add(const OnErrorStep&) { return absl::OkStatus(); }

  absl::Status AddOutputs(
      const std::vector<std::pair<std::string, Expr>>& outputs) {
    std::vector<ValueId> made;
    for (const auto& [name, expr] : outputs) {
      if (made_->Find(name) < 0) {  // nothing needs it
        random_calls_ += RandomCallsIn(expr);
        continue;
      }
      FM_ASSIGN_OR_RETURN(const ValueId value, CompileValue(expr));
      made.push_back(value);
    }
    components_ = std::move(made);
    return absl::OkStatus();
  }

  absl::Status Add(const FilterStep& step) {
    FM_ASSIGN_OR_RETURN(const ValueId predicate, CompileValue(step.predicate));
    Keep(*made_);
    std::vector<ValueId> inputs{predicate};
    std::vector<ValueId> outputs;
    for (ValueId& component : components_) {
      inputs.push_back(component);
      component = NewValue();
      outputs.push_back(component);
      placed_.push_back(component);
    }
    Emit(MakeFilter(std::move(inputs), std::move(outputs)));
    code_.filters = true;
    return absl::OkStatus();
  }

  absl::Status Add(const ParseExampleStep& step) {
    const ValueId in = components_.at(0);
    ParseExampleStep live = step;
    DropDead(live.features);
    components_.clear();
    for (size_t k = 0; k < live.features.size(); ++k) {
      components_.push_back(NewValue());
    }
    code_.takes_trailing = code_.instructions.empty() && batches_ == 0;
    Emit(MakeParseExample(live, batches_, in, components_));
    return absl::OkStatus();
  }

  absl::Status Add(const ParseSequenceExampleStep& step) {
    const ValueId in = components_.at(0);
    ParseSequenceExampleStep live = step;
    DropDead(live.context);
    DropDead(live.sequence);
    components_.clear();
    for (size_t k = 0; k < live.context.size() + live.sequence.size(); ++k) {
      components_.push_back(NewValue());
    }
    code_.takes_trailing = code_.instructions.empty() && batches_ == 0;
    Emit(MakeParseSequenceExample(live, batches_, in, components_));
    return absl::OkStatus();
  }

  void DropDead(std::vector<ParseExampleStep::Feature>& features) const {
    std::erase_if(features, [this](const ParseExampleStep::Feature& feature) {
      return made_->Find(feature.name) < 0;
    });
  }

  // The component that a step on one of them changes; none if nothing needs it.
  std::optional<size_t> Touched(const std::string& component) {
    Keep(*made_);
    const auto found = FindComponent(spec_, component);
    return found.ok() ? std::optional(*found) : std::nullopt;
  }

  absl::Status Add(const DecodeImageStep& step) {
    const auto touched = Touched(step.component);
    if (!touched) return absl::OkStatus();
    const size_t c = *touched;
    const ValueId in = std::exchange(components_[c], NewValue());
    Emit(MakeDecodeImage(step, batches_, in, components_[c]));
    code_.heavy = true;
    return absl::OkStatus();
  }

  absl::Status Add(const ResizeStep& step) {
    const auto touched = Touched(step.component);
    if (!touched) return absl::OkStatus();
    const size_t c = *touched;
    const ValueId in = std::exchange(components_[c], NewValue());
    Emit(MakeResize(step, batches_, in, components_[c]));
    owned_.push_back(components_[c]);
    resized_.push_back(components_[c]);
    code_.heavy = true;
    return absl::OkStatus();
  }

  absl::Status Add(const RandomFlipStep& step) {
    const auto touched = Touched(step.component);
    if (!touched) return absl::OkStatus();
    const size_t c = *touched;
    const ValueId in = components_[c];
    const bool only_user =
        std::count(components_.begin(), components_.end(), in) == 1;
    components_[c] = NewValue();
    auto flip =
        MakeRandomFlip(step, step_, batches_, plan_, in, components_[c]);
    flip->in_place = only_user && Contains(owned_, in);
    if (flip->in_place && Contains(resized_, in)) {
      resized_.push_back(components_[c]);
    }
    owned_.push_back(components_[c]);
    Emit(std::move(flip));
    code_.random = true;
    return absl::OkStatus();
  }

  absl::Status Add(const EnumerateStep& step) {
    components_.insert(components_.begin(), NewValue());
    Emit(MakeEnumerate(step, step_, plan_, components_[0]));
    code_.random = true;  // it needs the counters
    return absl::OkStatus();
  }

  template <class Other>
  absl::Status Add(const Other&) {
    return Internal("step {} is not one of elements alone", step_);
  }

  static bool Contains(const std::vector<ValueId>& values, ValueId value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  // ---- expressions
  static Operand Constant(ValueType type, Column column) {
    return {std::move(type), true, 0,
            std::make_shared<const Column>(std::move(column))};
  }

  static Operand LiteralOperand(const Expr::Literal& literal) {
    return Constant(LiteralType(literal), ConstantColumn(literal));
  }

  // As a value of its own, constants repeated for every row.
  absl::StatusOr<ValueId> CompileValue(const Expr& expr) {
    FM_ASSIGN_OR_RETURN(Operand operand, Compile(expr));
    if (!operand.constant) return operand.value;
    const ValueId out = NewValue();
    Emit(MakeBroadcast(std::move(operand), out));
    return out;
  }

  absl::StatusOr<Operand> Compile(const Expr& expr) {
    if (const auto* literal = std::get_if<Expr::Literal>(&expr.node())) {
      return LiteralOperand(*literal);
    }
    if (const auto* name = std::get_if<Expr::Component>(&expr.node())) {
      return CompileComponent(name->name);
    }
    const auto& call = std::get<Expr::Call>(expr.node());
    if (TestsRemainder(call)) return CompileRemainderTest(call);
    const auto* function = registry_.Find(call.function);
    std::optional<Operand> bits;
    if (function != nullptr && function->random) bits = DrawRandomBits();
    std::vector<Operand> arguments;
    for (const Expr& argument : call.arguments) {
      FM_ASSIGN_OR_RETURN(arguments.emplace_back(), Compile(argument));
    }
    return CompileCall(call.function, std::move(arguments), std::move(bits));
  }

  // x % n == 0 or x % n != 0, with a literal n.
  static bool TestsRemainder(const Expr::Call& call) {
    const auto integer = [](const Expr& expr) -> std::optional<int64_t> {
      const auto* literal = std::get_if<Expr::Literal>(&expr.node());
      if (literal == nullptr) return std::nullopt;
      const auto* value = std::get_if<int64_t>(&literal->value);
      return value == nullptr ? std::nullopt : std::optional(*value);
    };
    if ((call.function != "equal" && call.function != "not_equal") ||
        call.arguments.size() != 2 || integer(call.arguments[1]) != 0) {
      return false;
    }
    const auto* tested = std::get_if<Expr::Call>(&call.arguments[0].node());
    return tested != nullptr && tested->function == "remainder" &&
           tested->arguments.size() == 2 &&
           integer(tested->arguments[1]).value_or(0) != 0;
  }

  absl::StatusOr<Operand> CompileRemainderTest(const Expr::Call& call) {
    const auto& tested = std::get<Expr::Call>(call.arguments[0].node());
    FM_ASSIGN_OR_RETURN(Operand x, Compile(tested.arguments[0]));
    FM_ASSIGN_OR_RETURN(Operand n, Compile(tested.arguments[1]));
    FM_ASSIGN_OR_RETURN(Operand zero, Compile(call.arguments[1]));
    FM_ASSIGN_OR_RETURN(const ValueType remainder,
                        InferCall("remainder", {x.type, n.type}, registry_));
    if (x.constant || remainder.dtype != x.type.dtype ||
        !IsTestedForDivisors(remainder.dtype)) {
      FM_ASSIGN_OR_RETURN(Operand rest, CompileCall("remainder", {x, n}));
      return CompileCall(call.function, {std::move(rest), std::move(zero)});
    }
    FM_ASSIGN_OR_RETURN(
        ValueType type,
        InferCall(call.function, {remainder, zero.type}, registry_));
    Operand result{type, false, NewValue(), nullptr};
    Emit(MakeCall(&DivisibleFunction(call.function == "equal"),
                  {std::move(x), std::move(n)}, std::move(type), result.value));
    return result;
  }

  // `bits`: those of a random function.
  absl::StatusOr<Operand> CompileCall(
      const std::string& name, std::vector<Operand> arguments,
      std::optional<Operand> bits = std::nullopt) {
    std::vector<ValueType> types;
    bool constant = !bits;
    for (const Operand& operand : arguments) {
      constant = constant && operand.constant;
      types.push_back(operand.type);
    }
    FM_ASSIGN_OR_RETURN(ValueType type, InferCall(name, types, registry_));
    if (type.literal) return LiteralOperand(*type.literal);
    if (bits) arguments.insert(arguments.begin(), *std::move(bits));
    const auto* function = registry_.Find(name);
    if (constant && function->pure) {
      auto folded = Fold(*function, arguments, type);
      // One that fails is an error of the first row that needs it.
      if (folded.ok()) return folded;
    }
    code_.heavy = code_.heavy || function->heavy;
    Operand result{type, false, NewValue(), nullptr};
    if (type.dtype != DType::kBytes && !HasUnknownDim(type.shape)) {
      const auto items = static_cast<size_t>(NumItems(type.shape));
      if (items * ItemSize(type.dtype) >= BlockSource::kBytesMin) {
        large_calls_.push_back(result.value);
      }
    }
    placed_.push_back(result.value);
    Emit(MakeCall(function, std::move(arguments), std::move(type),
                  result.value));
    return result;
  }

  // The ordinal of a random call in its step is its place among them as
  // written, a call before those in its arguments.
  Operand DrawRandomBits() {
    Operand bits{RandomBitsType(), false, NewValue(), nullptr};
    Emit(MakeRandomBits(step_, random_calls_++, plan_, bits.value));
    code_.random = true;
    return bits;
  }

  uint64_t RandomCallsIn(const Expr& expr) const {
    const auto* call = std::get_if<Expr::Call>(&expr.node());
    if (call == nullptr) return 0;
    const auto* function = registry_.Find(call->function);
    uint64_t calls = function != nullptr && function->random ? 1 : 0;
    for (const Expr& one : call->arguments) calls += RandomCallsIn(one);
    return calls;
  }

  absl::StatusOr<Operand> CompileComponent(const std::string& name) {
    const auto found = FindComponent(spec_, name);
    if (!found.ok()) {
      if (DTypeFromName(name)) return LiteralOperand(Expr::Literal{name});
      return found.status();
    }
    ValueType type;
    type.dtype = spec_.components[*found].dtype;
    type.shape = spec_.components[*found].shape;
    return Operand{std::move(type), false, components_[*found], nullptr};
  }

  static absl::StatusOr<Operand> Fold(
      const FunctionRegistry::Function& function,
      const std::vector<Operand>& arguments, const ValueType& type) {
    std::vector<Argument> values;
    for (const Operand& argument : arguments) {
      values.push_back({&argument.type, argument.column.get(), true});
    }
    // Larger ones are made when a row needs them, under its limit.
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

  // ---- registers
  void FindDirect() {
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
      // Row by row, into the chunk: a copy of it would cost more than calls.
      code_.heavy = code_.heavy || (large && code_.direct.back());
    }
  }

  // The place of the last instruction that needs each value.
  std::vector<size_t> LastUses() const {
    const size_t end = code_.instructions.size();
    std::vector<size_t> last(next_value_, 0);
    for (size_t at = 0; at < end; ++at) {
      for (const ValueId in : code_.instructions[at]->inputs) last[in] = at;
    }
    for (const ValueId out : code_.outputs) last[out] = end;
    // A filter that drops nothing passes its inputs' registers on.
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

  void AssignRegisters() {
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

  void Fuse() {
    code_.fused.resize(code_.instructions.size());
    for (size_t at = 0; at < code_.instructions.size();) {
      auto fused = FusedItems::Make(code_.instructions, at, code_.outputs,
                                    code_.register_count);
      const size_t next = fused != nullptr ? fused->end() : at + 1;
      if (at == 0) code_.takes_progression = IsReadByTiles(fused.get());
      code_.fused[at] = std::move(fused);
      at = next;
    }
  }

  // Whether the input is one column of int64 that only `fused`, the first of
  // the program, reads, and tile by tile.
  bool IsReadByTiles(const FusedItems* fused) const {
    if (fused == nullptr || input_count_ != 1 || !fused->ReadsByTiles(0) ||
        Contains(code_.outputs, 0)) {
      return false;
    }
    for (size_t at = fused->end(); at < code_.instructions.size(); ++at) {
      if (Contains(code_.instructions[at]->inputs, 0)) return false;
    }
    return true;
  }

  const std::shared_ptr<const Plan> plan_;
  const FunctionRegistry& registry_;
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

}  // namespace

absl::StatusOr<ProgramCode> CompileProgram(std::shared_ptr<const Plan> plan,
                                           const FunctionRegistry& registry,
                                           std::span<const size_t> steps,
                                           const ElementSpec& input,
                                           const ElementSpec* output) {
  Compiler compiler(std::move(plan), registry, input);
  for (const size_t step : steps) FM_RETURN_IF_ERROR(compiler.AddStep(step));
  if (output != nullptr) compiler.Keep(*output);
  return std::move(compiler).Finish();
}

}  // namespace feedmill

#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

class WriteNumbers final : public Instruction {
 public:
  WriteNumbers(const EnumerateStep& written, size_t step_index,
               std::shared_ptr<const Plan> plan, ValueId out)
      : start_(static_cast<uint64_t>(written.start)), plan_(std::move(plan)) {
    step = step_index;
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    OutputColumn& own = state.registers[registers[0]].storage;
    own.Reset(DType::kInt64, {});
    for (size_t row = 0; row < state.rows; ++row) {
      const size_t origin = state.OriginOf(row);
      const uint64_t counter = state.input->counters[origin].p;
      own.values.Push(
          static_cast<int64_t>(start_ + plan_->PlaceAt(step, counter)));
    }
    state.values[outputs[0]] = &own.View();
    return absl::OkStatus();
  }

 private:
  const uint64_t start_;
  const std::shared_ptr<const Plan> plan_;
};

class EnumerateRows final : public ClientStep {
 public:
  EnumerateRows(const EnumerateStep& step,
                std::shared_ptr<const ElementSpec> output)
      : start_(step.start), output_(std::move(output)) {}

  absl::Status OnPush(Flow flow) override {
    std::vector<int64_t> numbers(flow.chunk.rows);
    for (int64_t& number : numbers) {
      number = static_cast<int64_t>(static_cast<uint64_t>(start_) + made_++);
    }
    flow.chunk.spec = output_;
    flow.chunk.columns.insert(flow.chunk.columns.begin(), MakeColumn(numbers));
    return next->Push(std::move(flow));
  }
  absl::Status OnEndPass() override {
    made_ = 0;
    return absl::OkStatus();
  }
  void Save(StageState::Step& state) const override { state.made = made_; }
  bool Restore(const StageState::Step& state) override {
    made_ = state.made;
    return true;
  }

 private:
  const int64_t start_;
  const std::shared_ptr<const ElementSpec> output_;
  uint64_t made_ = 0;
};

struct EnumerateOperator : PassesComponents {
  using Options = EnumerateStep;
  static constexpr std::string_view kName = "enumerate";
  static constexpr Description kDescription = {
      .summary = "Adds a first component with the numbers start, start + 1, …",
      .yaml = R"(enumerate:
enumerate: {component: index, start: 1})",
      .element = "gains a first component: int64, the place of the element",
      .details = "A single unnamed component is called `x` then.",
      .errors =
          "Reading raises InvalidArgumentError if there is a component of "
          "that name.",
      .example = R"(
>>> ds = fm.Dataset.text("notes.txt").enumerate(start=1)
>>> next(ds.read())
{'index': np.int64(1), 'x': b'first line'}
)"};

  static FieldList Fields(EnumerateStep& s) {
    return {{"component", ComponentName{&s.component}, Field::kOptional,
             "The name of the component."},
            {"start", &s.start, Field::kOptional, "The first number."}};
  }
  static StepTraits Traits(const EnumerateStep&) {
    return {.needs = StepNeeds::kPlace};
  }
  static std::optional<uint64_t> Count(const EnumerateStep&,
                                       uint64_t elements) {
    return elements;
  }
  static std::string Describe(const EnumerateStep& s) {
    return fmt::format("{} from {}", s.component, s.start);
  }
  static absl::StatusOr<ElementSpec> Output(const EnumerateStep& s,
                                            const StepInput& in) {
    if (s.component.empty()) {
      return InvalidArgument(
          "the component that holds the numbers needs a name");
    }
    ElementSpec out;
    out.components.push_back({s.component, DType::kInt64, {}});
    // For batches, the number counts the batch.
    for (const ComponentSpec& c : in.spec.components) {
      out.components.push_back({NameOrX(c), c.dtype, c.shape, c.logical});
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }
  static ComponentMask Needed(const EnumerateStep&, const ElementSpec&,
                              const ComponentMask& needed) {
    return {needed.begin() + 1, needed.end()};
  }
  static ComponentMask Made(const EnumerateStep&, const ElementSpec&,
                            const ComponentMask& made, const ComponentMask&) {
    ComponentMask out{true};
    out.insert(out.end(), made.begin(), made.end());
    return out;
  }
  // Workers write the numbers if the plan knows them.
  static absl::Status Compile(const EnumerateStep& s, ProgramBuilder& program) {
    auto& components = program.components();
    components.insert(components.begin(), program.NewValue());
    program.Emit(std::make_unique<WriteNumbers>(s, program.step(),
                                                program.plan(), components[0]));
    program.SetRandom();  // the instruction needs the counters
    return absl::OkStatus();
  }
  static ClientSteps MakeClientSteps(const EnumerateStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    return ClientStepsOf(
        std::make_unique<EnumerateRows>(s, plan->graph().steps[step].output));
  }
};

}  // namespace

const StepKind& EnumerateKind() { return KindOf<EnumerateOperator>(); }

}  // namespace feedmill

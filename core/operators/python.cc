#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/machine_error.h"
#include "core/base/status.h"
#include "core/dataset/python_functions.h"
#include "core/operators/outputs.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

// Most elements of a call of a process. It costs about as much as 30 calls of
// an empty function.
constexpr size_t kPythonRows = 64;

// True if no process could be had, or the reading ends: no fault of an element.
bool IsOfMachine(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsFailedPrecondition(status) || absl::IsCancelled(status);
}

// Computes components by a process of the interpreter.
class RunPython final : public Instruction {
 public:
  // `in`: the components, then the random bits. `out[k]` is component
  // `components[k]` of the function's output, which has `count` of them.
  RunPython(std::shared_ptr<PythonFunction> function, std::vector<ValueId> in,
            std::vector<ValueId> out, std::vector<size_t> components,
            size_t count)
      : function_(std::move(function)),
        components_(std::move(components)),
        count_(count) {
    inputs = std::move(in);
    outputs = std::move(out);
    late = true;
  }

  absl::Status Run(BlockState& state) const override {
    if (function_ == nullptr) {
      throw MachineError(
          FailedPrecondition("this process allows no Python functions"));
    }
    std::vector<const Column*> columns;
    for (const ValueId in : inputs) columns.push_back(state.values[in]);
    const Column& bits = *columns.back();
    columns.pop_back();
    std::vector<OutputColumn*> made(count_, nullptr);
    for (size_t k = 0; k < outputs.size(); ++k) {
      made[components_[k]] = &state.registers[registers[k]].storage;
    }
    absl::Status status =
        function_->Run(columns, bits, state.rows, made, state.failed_row);
    if (IsOfMachine(status)) throw MachineError(std::move(status));
    FM_RETURN_IF_ERROR(status);
    for (size_t k = 0; k < outputs.size(); ++k) {
      state.values[outputs[k]] = &state.registers[registers[k]].storage.View();
    }
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<PythonFunction> function_;
  const std::vector<size_t> components_;
  const size_t count_;
};

bool CallFilters(const PythonStep& s) {
  return s.call == PythonStep::Call::kFilter;
}

absl::Status CheckComponents(const PythonStep& s) {
  FM_RETURN_IF_ERROR(CheckPythonOutput(s.output));
  if (CallFilters(s) != s.output.empty()) {
    return InvalidArgument(
        "{}", CallFilters(s)
                  ? "a filter has no output: it is one bool"
                  : "output must list the components that it returns");
  }
  return absl::OkStatus();
}

absl::Status CheckBatchInput(const PythonStep& s, const ElementSpec& spec) {
  if (s.call != PythonStep::Call::kBatch) return absl::OkStatus();
  for (const ComponentSpec& component : spec.components) {
    if (component.IsStatic()) continue;
    return InvalidArgument(
        "a batched function needs elements of one shape, and {} is {}; use a "
        "function of one element, or resize or pad before it",
        NameOrX(component), TypeText(component));
  }
  return absl::OkStatus();
}

struct PythonOperator {
  using Options = PythonStep;
  static constexpr std::string_view kName = "python";
  static constexpr Description kDescription = {
      .summary =
          "Calls a Python function in processes of the interpreter that "
          "--allow-python names.",
      .yaml =
          R"(python: {function: gAWV, output: {peak: int64}, python: "3.11.2", packages: ["numpy==2.4.6"]})",
      .element = "these components; unchanged with `call: filter`",
      .details = "Python's `map` and `filter` write it."};

  static FieldList Fields(PythonStep& s) {
    return {
        {"function", &s.function,
         Field::kRequired | (s.version.empty() ? 0U : Field::kUnidentified),
         "The function, pickled by cloudpickle, in Base64."},
        {"version", &s.version, Field::kSparse, "Identifies the function.",
         "its bytes"},
        {"call", Word(s.call, {"element", "batch", "filter"}), Field::kSparse,
         "What it gets: an element, or many along a new first axis; filter: "
         "it returns whether an element is kept."},
        {"output", &s.output, Field::kSparse,
         "The types of the components that it returns."},
        {"python", &s.python, Field::kRequired,
         "The version of Python that pickled it."},
        {"packages", &s.packages, Field::kSparse,
         "Packages that it needs, in exactly these versions."},
        {"timeout_seconds", &s.timeout_seconds, Field::kOptional,
         "An element that takes longer is an error."},
        {"memory_bytes", &s.memory_bytes, Field::kSparse,
         "Most bytes that a process allocates.", "any number"},
        {"deterministic", &s.deterministic, Field::kSparse,
         "Equal elements always give equal results."}};
  }
  static StepTraits Traits(const PythonStep& s) {
    return {.needs = StepNeeds::kElement,
            .drops = CallFilters(s),
            .random = true,
            .heavy = true,
            .lists_components = !CallFilters(s),
            .unrepeatable = !s.deterministic};
  }
  static std::string Describe(const PythonStep& s) {
    std::string out = fmt::format("Python {}", s.python);
    if (s.call == PythonStep::Call::kBatch) out += ", batched";
    const std::string names = DescribeFeatures(s.output);
    if (!names.empty()) out += ": " + names;
    return Shortened(out);
  }
  static absl::StatusOr<ElementSpec> Output(const PythonStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(
        CheckPythonCode(s.function, s.timeout_seconds, s.memory_bytes));
    FM_RETURN_IF_ERROR(CheckComponents(s));
    FM_RETURN_IF_ERROR(CheckBatchInput(s, in.spec));
    if (!CallFilters(s)) return PythonOutput(s);
    if (!s.deterministic) {
      return InvalidArgument(
          "a filter decides which elements there are, so its function must be "
          "deterministic=True: equal elements always give equal results");
    }
    return in.spec;
  }
  // The function gets all components.
  static ComponentMask Needed(const PythonStep&, const ElementSpec& in,
                              const ComponentMask&) {
    return ComponentMask(in.components.size(), true);
  }
  static ComponentMask Made(const PythonStep& s, const ElementSpec&,
                            const ComponentMask& made,
                            const ComponentMask& needed) {
    return CallFilters(s) ? Kept(made, needed) : FirstIfNone(needed);
  }

  static absl::Status Compile(const PythonStep& s, ProgramBuilder& program) {
    const AnalyzedGraph& graph = program.plan()->graph();
    const PythonCall call = PythonCallOf(graph, program.step());
    std::shared_ptr<PythonFunction> function;
    if (const auto& python = program.functions().python()) {
      function = python->Load(call);
    }
    std::vector<ValueId> in = program.components();
    in.push_back(program.NewValue());
    program.Emit(MakeRandomBits(program.step(), 0, program.plan(), in.back()));
    program.SetRandom();
    // A function of many elements may have a cost of its own, such as a model.
    program.SetHeavyRows(kPythonRows, s.call == PythonStep::Call::kBatch);
    std::vector<ValueId> out;
    std::vector<size_t> components;
    const size_t count = call.output.components.size();
    for (size_t c = 0; c < count; ++c) {
      if (!CallFilters(s) &&
          program.made().Find(call.output.components[c].name) < 0) {
        continue;  // no step needs it
      }
      components.push_back(c);
      out.push_back(program.NewValue());
    }
    program.Emit(std::make_unique<RunPython>(
        std::move(function), std::move(in), out, std::move(components), count));
    if (CallFilters(s)) {
      program.KeepRowsWhere(out.front());
    } else {
      program.components() = std::move(out);
    }
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& PythonKind() { return KindOf<PythonOperator>(); }

}  // namespace feedmill

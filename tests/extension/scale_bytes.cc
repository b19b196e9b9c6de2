// A step that is no part of feedmill: everything about it is in this file, and
// nothing in feedmill knows of it.
//
//   scale_bytes: {component: image, factor: 3}
//
// multiplies a component of uint8, wrapping around at 256.

#include <utility>

#include "core/base/status.h"
#include "core/dataset/type_inference.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/instructions.h"
#include "tests/extension/extensions.h"

namespace feedmill::extension {
namespace {

struct ScaleBytesStep {
  std::string component = "x";
  int64_t factor = 2;
};

class ScaleBytes final : public Instruction {
 public:
  ScaleBytes(uint8_t factor, ValueId in, ValueId out) : factor_(factor) {
    inputs = {in};
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    const Column& in = *state.values[inputs[0]];
    OutputColumn& out = state.registers[registers[0]].storage;
    out.Reset(in.dtype, in.shape);
    const auto first = static_cast<size_t>(in.RowStart(0));
    const auto items = static_cast<size_t>(in.RowStart(state.rows)) - first;
    const auto from = in.values.As<uint8_t>().subspan(first, items);
    auto* const to = reinterpret_cast<uint8_t*>(out.values.Extend(items));
    for (size_t k = 0; k < items; ++k) {
      to[k] = static_cast<uint8_t>(from[k] * factor_);
    }
    if (in.ragged()) {
      out.row_shapes.Append(in.row_shapes.data(),
                            state.rows * in.shape.size() * sizeof(int64_t));
      for (size_t row = 0; row <= state.rows; ++row) {
        out.row_starts.Push(in.RowStart(row) - in.RowStart(0));
      }
    }
    state.values[outputs[0]] = &out.View();
    return absl::OkStatus();
  }

 private:
  const uint8_t factor_;
};

struct ScaleBytesOperator : DropsUnneeded {
  using Options = ScaleBytesStep;
  static constexpr std::string_view kName = "scale_bytes";
  static constexpr Description kDescription = {
      .summary = "Multiplies a component of uint8, wrapping around at 256.",
      .yaml = "scale_bytes: 2",
      .element = "unchanged"};

  static FieldList Fields(ScaleBytesStep& s) {
    return {{"component", ComponentName{&s.component}, Field::kOptional,
             "A component of uint8."},
            {"factor", &s.factor, Field::kShort, "0 to 255."}};
  }
  static StepTraits Traits(const ScaleBytesStep& s) {
    return {.needs = StepNeeds::kElement, .changes = s.component};
  }
  static std::string Describe(const ScaleBytesStep& s) {
    return fmt::format("{} by {}", s.component, s.factor);
  }
  static absl::StatusOr<ElementSpec> Output(const ScaleBytesStep& s,
                                            const StepInput& in) {
    if (s.factor < 0 || s.factor > 255) {
      return InvalidArgument("factor must be 0 to 255, not {}", s.factor);
    }
    FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(in.spec, s.component));
    const ComponentSpec& component = in.spec.components[c];
    if (component.dtype != DType::kUInt8) {
      return InvalidArgument("it needs uint8, {} is {}", NameOrX(component),
                             TypeText(component));
    }
    return in.spec;
  }
  static absl::Status Compile(const ScaleBytesStep& s,
                              ProgramBuilder& program) {
    const auto c = program.Touch(s.component);
    if (!c) return absl::OkStatus();
    ValueId& value = program.components()[*c];
    const ValueId in = std::exchange(value, program.NewValue());
    program.Emit(std::make_unique<ScaleBytes>(static_cast<uint8_t>(s.factor),
                                              in, value));
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& ScaleBytesKind() { return KindOf<ScaleBytesOperator>(); }

}  // namespace feedmill::extension

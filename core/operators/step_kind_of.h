#ifndef FEEDMILL_CORE_OPERATORS_STEP_KIND_OF_H_
#define FEEDMILL_CORE_OPERATORS_STEP_KIND_OF_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/dataset/step_kind.h"
#include "core/pipeline/client_step.h"
#include "core/pipeline/program_builder.h"
#include "core/plan/plan_builder.h"

namespace feedmill {

// ---- shared parts of several kinds of steps; a kind derives from them

// For steps that pass every component: they need and make what they get.
struct PassesComponents {
  template <class Options>
  static ComponentMask Needed(const Options&, const ElementSpec&,
                              const ComponentMask& needed) {
    return needed;
  }
  template <class Options>
  static ComponentMask Made(const Options&, const ElementSpec&,
                            const ComponentMask& made, const ComponentMask&) {
    return made;
  }
};

// For steps of single elements that drop components that no later step needs.
struct DropsUnneeded {
  template <class Options>
  static ComponentMask Needed(const Options&, const ElementSpec&,
                              const ComponentMask& needed) {
    return needed;
  }
  template <class Options>
  static ComponentMask Made(const Options&, const ElementSpec&,
                            const ComponentMask& made,
                            const ComponentMask& needed) {
    return Kept(made, needed);
  }
};

// For steps that need all components, because they compare or equalise them.
struct NeedsAllComponents {
  template <class Options>
  static ComponentMask Needed(const Options&, const ElementSpec& in,
                              const ComponentMask&) {
    return ComponentMask(in.components.size(), true);
  }
  template <class Options>
  static ComponentMask Made(const Options&, const ElementSpec&,
                            const ComponentMask& made, const ComponentMask&) {
    return made;
  }
};

// The required members of every kind of step. `Operator` is a struct of static
// members around a plain struct of options. A step of several names has kNames
// and kDescriptions, two arrays, instead of kName and kDescription.
template <class Operator>
concept DescribesStep =
    requires(const typename Operator::Options& options,
             typename Operator::Options& writable, const StepInput& input,
             const ElementSpec& spec, const ComponentMask& mask) {
      { Operator::Fields(writable) } -> std::same_as<FieldList>;
      { Operator::Traits(options) } -> std::same_as<StepTraits>;
      { Operator::Describe(options) } -> std::convertible_to<std::string>;
      {
        Operator::Output(options, input)
      } -> std::same_as<absl::StatusOr<ElementSpec>>;
      { Operator::Needed(options, spec, mask) } -> std::same_as<ComponentMask>;
      {
        Operator::Made(options, spec, mask, mask)
      } -> std::same_as<ComponentMask>;
    };
// A step also has at least one of the following three members, which run it.
template <class Operator>
concept CompilesStep = requires(const typename Operator::Options& options,
                                ProgramBuilder& program) {
  { Operator::Compile(options, program) } -> std::same_as<absl::Status>;
};
template <class Operator>
concept PlansStep =
    requires(const typename Operator::Options& options, PlanBuilder& plan) {
      { Operator::AddToPlan(options, plan) } -> std::same_as<absl::Status>;
    };
template <class Operator>
concept RunsStepAtClient =
    requires(const typename Operator::Options& options,
             const std::shared_ptr<const Plan>& plan, size_t s) {
      {
        Operator::MakeClientSteps(options, plan, s)
      } -> std::same_as<ClientSteps>;
    };

// Makes a StepKind from the static members of `Operator`:
//
//   struct TakeOperator : PassesComponents {
//     using Options = TakeStep;
//     static constexpr std::string_view kName = "take";
//     …
//   };
//   const StepKind& TakeKind() { return KindOf<TakeOperator>(); }
template <class Operator>
  requires DescribesStep<Operator> &&
           (CompilesStep<Operator> || PlansStep<Operator> ||
            RunsStepAtClient<Operator>)
class StepKindOf final : public StepKind {
 public:
  using Options = typename Operator::Options;

  std::span<const std::string_view> names() const override {
    if constexpr (requires { Operator::kNames; }) {
      return Operator::kNames;
    } else {
      return {&Operator::kName, 1};
    }
  }
  const std::type_info& options_type() const override {
    return typeid(Options);
  }
  const Description& description(std::string_view name) const override {
    if constexpr (requires { Operator::kNames; }) {
      const auto found = std::ranges::find(Operator::kNames, name);
      return Operator::kDescriptions.at(
          static_cast<size_t>(found - Operator::kNames.begin()));
    } else {
      return Operator::kDescription;
    }
  }
  std::string_view short_form_hint() const override {
    if constexpr (requires { Operator::kShortFormHint; }) {
      return Operator::kShortFormHint;
    } else {
      return "";
    }
  }
  Step New(std::string_view name) const override {
    if constexpr (requires { Operator::New(name); }) {
      return Step(*this, Operator::New(name));
    } else {
      return Step(*this, Options{});
    }
  }
  std::string_view NameOf(const void* options) const override {
    if constexpr (requires { Operator::NameOf(Cast(options)); }) {
      return Operator::NameOf(Cast(options));
    } else {
      return Operator::kName;
    }
  }
  FieldList Fields(void* options) const override {
    return Operator::Fields(*static_cast<Options*>(options));
  }
  std::shared_ptr<void> Copy(const void* options) const override {
    return std::make_shared<Options>(Cast(options));
  }
  std::string Describe(const void* options) const override {
    return Operator::Describe(Cast(options));
  }
  StepTraits Traits(const void* options) const override {
    return Operator::Traits(Cast(options));
  }
  // Without a Count of its own, a step of single elements keeps their number,
  // and the number of other steps' elements is unknown.
  std::optional<uint64_t> Count(const void* options,
                                uint64_t elements) const override {
    if constexpr (requires { Operator::Count(Cast(options), elements); }) {
      return Operator::Count(Cast(options), elements);
    } else {
      const StepTraits traits = Traits(options);
      if (traits.needs != StepNeeds::kElement || traits.drops) {
        return std::nullopt;
      }
      return elements;
    }
  }
  absl::StatusOr<ElementSpec> Output(const void* options,
                                     const StepInput& input) const override {
    return Operator::Output(Cast(options), input);
  }
  ComponentMask Needed(const void* options, const ElementSpec& in,
                       const ComponentMask& needed) const override {
    return Operator::Needed(Cast(options), in, needed);
  }
  ComponentMask Made(const void* options, const ElementSpec& in,
                     const ComponentMask& made,
                     const ComponentMask& needed) const override {
    return Operator::Made(Cast(options), in, made, needed);
  }
  absl::Status AddToPlan(const void* options,
                         PlanBuilder& plan) const override {
    if constexpr (PlansStep<Operator>) {
      return Operator::AddToPlan(Cast(options), plan);
    } else {
      return absl::OkStatus();
    }
  }
  absl::Status Compile(const void* options,
                       ProgramBuilder& program) const override {
    if constexpr (CompilesStep<Operator>) {
      return Operator::Compile(Cast(options), program);
    } else {
      return Internal("{} is not a step of single elements", NameOf(options));
    }
  }
  ClientSteps MakeClientSteps(const void* options,
                              const std::shared_ptr<const Plan>& plan,
                              size_t s) const override {
    if constexpr (RunsStepAtClient<Operator>) {
      return Operator::MakeClientSteps(Cast(options), plan, s);
    } else {
      return {};
    }
  }

 private:
  static const Options& Cast(const void* options) {
    return *static_cast<const Options*>(options);
  }
};

// Returns the only object of the kind.
template <class Operator>
const StepKind& KindOf() {
  static const StepKindOf<Operator> kind;
  return kind;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_STEP_KIND_OF_H_

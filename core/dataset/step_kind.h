#ifndef FEEDMILL_CORE_DATASET_STEP_KIND_H_
#define FEEDMILL_CORE_DATASET_STEP_KIND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/component_mask.h"
#include "core/dataset/fields.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/step.h"
#include "feedmill/element_spec.h"

namespace feedmill {

class ClientStep;      // core/pipeline/client_step.h
class Plan;            // core/plan/plan.h
class PlanBuilder;     // core/plan/plan_builder.h
class ProgramBuilder;  // core/pipeline/program_builder.h

// Knowledge of the sequence that a step needs. It decides where the step runs.
enum class StepNeeds {
  kElement,  // one element alone
  kCounts,   // the number of elements (shuffle, repeat)
  kPlace,    // the place of each element
  // The elements before it, and their values. The places of the elements that
  // it makes are only known by running it.
  kSequence,
};

// How a step changes the number of leading dimensions that are batches.
enum class BatchDims {
  kKept,
  kAdded,      // one more
  kRemoved,    // one less, if there is one
  kOneOrMore,  // made one if there is none
};

// Properties of a step with its options that the engine must know, apart from
// its types.
struct StepTraits {
  StepNeeds needs = StepNeeds::kElement;
  BatchDims batch_dims = BatchDims::kKept;
  // An element that enters may leave nothing, for reasons in the data.
  bool drops = false;
  // Draws random numbers, apart from random functions in its expressions.
  bool random = false;
  // Costs microseconds or more an element, apart from its expressions.
  bool heavy = false;
  // Acts on single records, below the dimensions of batches.
  bool on_records = false;
  // Puts records together so that steps with on_records cannot follow.
  bool joins_records = false;
  // For StepNeeds::kPlace: the elements of an input of a combining source stay
  // counted after it.
  bool keeps_count = false;
  // Makes its own list of components, of which unneeded ones are left out.
  bool lists_components = false;
  // The component that it changes, if it changes one only; "": none.
  std::string changes{};
  // Elements that enter for one that leaves, at most, where that is known.
  uint64_t joins = 1;
  // Elements that it holds at the client, at most; 0: none, or unknown.
  uint64_t holds = 0;
  // Elements that may enter it before the first leaves, and for each that
  // leaves, at most.
  uint64_t first_after = 0;
  uint64_t next_after = 1;
};

// The element that enters a step.
struct StepInput {
  const ElementSpec& spec;
  // Leading dimensions of each component that are batches.
  size_t batches = 0;
  const FunctionRegistry& functions;
};

// Everything about one kind of step but its kernel and its reference; one
// object a kind, in one file of core/operators/ (or outside: RegisterStep).
// StepKindOf (core/operators/step_kind_of.h) makes it of a plain struct and
// does not compile if a part is missing. `options` is that of a Step of this
// kind.
//
// Thread-safety: immutable; any thread.
class StepKind {
 public:
  virtual ~StepKind() = default;

  // The names in YAML; usually one.
  virtual std::span<const std::string_view> names() const = 0;
  virtual const std::type_info& options_type() const = 0;
  // A sentence for --help.
  virtual std::string_view summary() const = 0;
  // Ends the error about a single value in YAML where the step takes none.
  virtual std::string_view short_form_hint() const = 0;
  // With all defaults. REQUIRES: `name` is one of names().
  virtual Step New(std::string_view name) const = 0;

  virtual std::string_view NameOf(const void* options) const = 0;
  // The fields point into `options`.
  virtual FieldList Fields(void* options) const = 0;
  virtual std::shared_ptr<void> Copy(const void* options) const = 0;
  // The options, short, for --explain.
  virtual std::string Describe(const void* options) const = 0;
  virtual StepTraits Traits(const void* options) const = 0;

  // Returns the element that leaves the step. Checks the options and the input,
  // not the place among the steps (Analyze does). InvalidArgument says which
  // option or component does not fit.
  virtual absl::StatusOr<ElementSpec> Output(const void* options,
                                             const StepInput& input) const = 0;
  // The components of `in` that the step needs to make those of its output
  // that are `needed`.
  virtual ComponentMask Needed(const void* options, const ElementSpec& in,
                               const ComponentMask& needed) const = 0;
  // The components that it makes if `made` of `in` enter it and `needed` of
  // its own are needed.
  virtual ComponentMask Made(const void* options, const ElementSpec& in,
                             const ComponentMask& made,
                             const ComponentMask& needed) const = 0;

  // Adds the step to the plan, where it changes the order or the number of
  // positions there.
  virtual absl::Status AddToPlan(const void* options,
                                 PlanBuilder& plan) const = 0;
  // Compiles a step of single elements. Internal for others.
  virtual absl::Status Compile(const void* options,
                               ProgramBuilder& program) const = 0;
  // The steps of the client stage that run plan.graph().steps[s], a step of
  // this kind; empty if the client has nothing to do.
  virtual std::vector<std::unique_ptr<ClientStep>> MakeClientSteps(
      const void* options, const std::shared_ptr<const Plan>& plan,
      size_t s) const = 0;
};

// ---- the same of a step
inline StepTraits TraitsOf(const Step& step) {
  return step.kind().Traits(step.options());
}
inline StepNeeds NeedsOf(const Step& step) { return TraitsOf(step).needs; }
inline std::string DescribeStep(const Step& step) {
  return step.kind().Describe(step.options());
}
// How many leading dimensions are batches after a step that `before` of them
// enter.
size_t BatchesAfter(const Step& step, size_t before);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_KIND_H_

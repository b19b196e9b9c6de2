#ifndef FEEDMILL_CORE_DATASET_STEP_KIND_H_
#define FEEDMILL_CORE_DATASET_STEP_KIND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/component_mask.h"
#include "core/dataset/description.h"
#include "core/dataset/fields.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/step.h"
#include "feedmill/element.h"

namespace feedmill {

class ClientStep;      // core/pipeline/client_step.h
class Plan;            // core/plan/plan.h
class PlanBuilder;     // core/plan/plan_builder.h
class ProgramBuilder;  // core/pipeline/program_builder.h

// Knowledge of the sequence that a step needs. It decides the step's placement.
enum class StepNeeds {
  kElement,  // one element alone
  kCounts,   // the number of elements (shuffle, repeat)
  kPlace,    // the place of each element
  // Earlier elements and their values. The places of its output elements are
  // known only by running it.
  kSequence,
};

// Change of the number of leading dimensions that are batches.
enum class BatchDims {
  kKept,
  kAdded,      // one more
  kRemoved,    // one less, if there is one
  kOneOrMore,  // one if there was none
};

// Properties of a step and its options, besides types, that the engine needs.
struct StepTraits {
  StepNeeds needs = StepNeeds::kElement;
  BatchDims batch_dims = BatchDims::kKept;
  // An input element may yield no output, depending on the data.
  bool drops = false;
  // Uses random numbers, besides random functions in its expressions.
  bool random = false;
  // Takes microseconds or more an element, besides its expressions.
  bool heavy = false;
  // Acts on single records, below the dimensions of batches.
  bool on_records = false;
  // Joins records so that steps with on_records cannot follow.
  bool joins_records = false;
  // For StepNeeds::kPlace: the elements of an input of a combining source stay
  // counted after it.
  bool keeps_count = false;
  // Defines its own list of components; unneeded ones are dropped.
  bool lists_components = false;
  // Made again, an element may have other values.
  bool unrepeatable = false;
  // The only component that it changes; "": none, or several.
  std::string changes{};
  // Most input elements per output element, if known.
  uint64_t joins = 1;
  // Most elements that it holds on the client; 0: none, or unknown.
  uint64_t holds = 0;
  // Most input elements before the first output, and before each further
  // output.
  uint64_t first_after = 0;
  uint64_t next_after = 1;
};

// The input of a step.
struct StepInput {
  const ElementSpec& spec;
  // Leading dimensions of each component that are batches.
  size_t batches = 0;
  const FunctionRegistry& functions;
};

// Everything about one kind of step except its kernel and its reference
// implementation. There is one object per kind, in one file of core/operators/
// (or outside of feedmill: RegisterStep). StepKindOf
// (core/operators/step_kind_of.h) makes it from a plain struct, and does not
// compile if a part is missing. `options` belongs to a Step of this kind.
//
// Thread-safety: immutable; any thread.
class StepKind {
 public:
  virtual ~StepKind() = default;

  // The names in YAML; usually one.
  virtual std::span<const std::string_view> names() const = 0;
  virtual const std::type_info& options_type() const = 0;
  // REQUIRES: `name` is one of names().
  virtual const Description& description(std::string_view name) const = 0;
  // The end of the error message if YAML has a single value but the step takes
  // none.
  virtual std::string_view short_form_hint() const = 0;
  // Returns a step with all defaults. REQUIRES: `name` is one of names().
  virtual Step New(std::string_view name) const = 0;

  virtual std::string_view NameOf(const void* options) const = 0;
  // The fields point into `options`.
  virtual FieldList Fields(void* options) const = 0;
  virtual std::shared_ptr<void> Copy(const void* options) const = 0;
  // Returns a short text of the options for --explain.
  virtual std::string Describe(const void* options) const = 0;
  virtual StepTraits Traits(const void* options) const = 0;
  // Returns the number of output elements for `elements` input elements.
  // Nullopt if it depends on the data, or if the output is infinite.
  virtual std::optional<uint64_t> Count(const void* options,
                                        uint64_t elements) const = 0;

  // Returns the spec of the output. Checks the options and the input, but not
  // the order of steps (Analyze does). InvalidArgument names the option or
  // component that does not fit.
  virtual absl::StatusOr<ElementSpec> Output(const void* options,
                                             const StepInput& input) const = 0;
  // Returns the components of `in` that the step needs to make the `needed`
  // components of its output.
  virtual ComponentMask Needed(const void* options, const ElementSpec& in,
                               const ComponentMask& needed) const = 0;
  // Returns the components of its output that the step makes, if it gets the
  // components `made` of `in` and its `needed` ones are needed.
  virtual ComponentMask Made(const void* options, const ElementSpec& in,
                             const ComponentMask& made,
                             const ComponentMask& needed) const = 0;

  // Adds the step to the plan, if it changes the order or number of positions.
  virtual absl::Status AddToPlan(const void* options,
                                 PlanBuilder& plan) const = 0;
  // Compiles a step of single elements. Internal error for other steps.
  virtual absl::Status Compile(const void* options,
                               ProgramBuilder& program) const = 0;
  // Returns the client steps that run plan.graph().steps[s], a step of this
  // kind; empty if the client has nothing to do.
  virtual std::vector<std::unique_ptr<ClientStep>> MakeClientSteps(
      const void* options, const std::shared_ptr<const Plan>& plan,
      size_t s) const = 0;
};

// ---- the same for a step
inline StepTraits TraitsOf(const Step& step) {
  return step.kind().Traits(step.options());
}
inline StepNeeds NeedsOf(const Step& step) { return TraitsOf(step).needs; }
inline std::string DescribeStep(const Step& step) {
  return step.kind().Describe(step.options());
}
// Returns the number of leading batch dimensions after a step, given the number
// before it.
size_t BatchesAfter(const Step& step, size_t before);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_KIND_H_

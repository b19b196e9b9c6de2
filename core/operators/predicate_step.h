#ifndef FEEDMILL_CORE_OPERATORS_PREDICATE_STEP_H_
#define FEEDMILL_CORE_OPERATORS_PREDICATE_STEP_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/dataset/step_kind.h"
#include "core/operators/step_kind_of.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"
#include "feedmill/expr.h"

// The shared part of steps that keep the elements for which an expression is
// true.

namespace feedmill {

// Returns the output of a step with this predicate. InvalidArgument unless the
// predicate is one bool.
absl::StatusOr<ElementSpec> KeptBy(const Expr& predicate, const StepInput& in);

// Returns hash_uniform(step, seed, `by`). An empty `by` means all components.
Expr HashOf(std::string_view step, int64_t seed, const Outputs& by,
            const ElementSpec& in);

// Defines Traits, Output, Needed, Made and Compile of a step from its members
//
//   static Expr Predicate(const Options& options, const ElementSpec& in);
//   static absl::Status Check(const Options& options);  // optional
template <class Operator>
struct PredicateStep : DropsUnneeded {
  static StepTraits Traits(const auto&) {
    return {.needs = StepNeeds::kElement, .drops = true};
  }
  static absl::StatusOr<ElementSpec> Output(const auto& s,
                                            const StepInput& in) {
    if constexpr (requires { Operator::Check(s); }) {
      FM_RETURN_IF_ERROR(Operator::Check(s));
    }
    return KeptBy(Operator::Predicate(s, in.spec), in);
  }
  static ComponentMask Needed(const auto& s, const ElementSpec& in,
                              const ComponentMask& needed) {
    ComponentMask out = needed;
    AddNeeded(Operator::Predicate(s, in), in, out);
    return out;
  }
  static absl::Status Compile(const auto& s, ProgramBuilder& program) {
    const ElementSpec& in = program.plan()->graph().InputOf(program.step());
    FM_ASSIGN_OR_RETURN(const ValueId keep,
                        program.CompilePredicate(Operator::Predicate(s, in)));
    program.KeepRowsWhere(keep);
    return absl::OkStatus();
  }
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_PREDICATE_STEP_H_

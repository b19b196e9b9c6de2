#ifndef FEEDMILL_CORE_OPERATORS_COLUMN_STEP_H_
#define FEEDMILL_CORE_OPERATORS_COLUMN_STEP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/dataset/component_mask.h"
#include "core/dataset/step_kind.h"
#include "feedmill/element.h"
#include "feedmill/expr.h"

// The shared part of steps that choose, name and add components.

namespace feedmill {

// A component of the output: made by an expression, or kept from the input.
struct ChosenColumn {
  std::string name;
  const Expr* expr = nullptr;  // of the options; null: `input`
  size_t input = 0;
  bool validity = false;  // of the value of `expr`, which may be null
};

// Returns the spec of the columns.
absl::StatusOr<ElementSpec> SpecOf(const std::vector<ChosenColumn>& columns,
                                   const StepInput& in);
// See StepKind::Needed and Made.
ComponentMask NeededBy(const std::vector<ChosenColumn>& columns,
                       const ElementSpec& in, const ComponentMask& needed);
ComponentMask MadeBy(const std::vector<ChosenColumn>& columns,
                     const ComponentMask& made, const ComponentMask& needed);

// Finds a component that is no validity.
absl::StatusOr<size_t> FindColumn(const ElementSpec& in,
                                  const std::string& name);
// Adds the component `input`, with its validity.
void AddColumn(const std::string& name, size_t input, const ElementSpec& in,
               std::vector<ChosenColumn>& columns);
// Removes the component `input`, with its validity.
void RemoveColumn(size_t input, const ElementSpec& in,
                  std::vector<ChosenColumn>& columns);

// Returns the components of `in`, with their names.
std::vector<ChosenColumn> AllColumns(const ElementSpec& in);

// Defines Output, Needed and Made of a step from its member
//
//   // InvalidArgument if a name does not fit.
//   static absl::StatusOr<std::vector<ChosenColumn>> Columns(
//       const Options& options, const ElementSpec& in);
template <class Operator>
struct ColumnStep {
  static StepTraits Traits(const auto&) {
    return {.needs = StepNeeds::kElement};
  }
  static absl::StatusOr<ElementSpec> Output(const auto& s,
                                            const StepInput& in) {
    FM_ASSIGN_OR_RETURN(const std::vector<ChosenColumn> columns,
                        Operator::Columns(s, in.spec));
    return SpecOf(columns, in);
  }
  static ComponentMask Needed(const auto& s, const ElementSpec& in,
                              const ComponentMask& needed) {
    return NeededBy(*Operator::Columns(s, in), in, needed);
  }
  static ComponentMask Made(const auto& s, const ElementSpec& in,
                            const ComponentMask& made,
                            const ComponentMask& needed) {
    return MadeBy(*Operator::Columns(s, in), made, needed);
  }
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_COLUMN_STEP_H_

#ifndef FEEDMILL_CORE_DATASET_COMPONENT_MASK_H_
#define FEEDMILL_CORE_DATASET_COMPONENT_MASK_H_

#include <string>
#include <vector>

#include "feedmill/element.h"
#include "feedmill/expr.h"

// Sets of components, for column pruning (docs/semantics/needed_components.md).

namespace feedmill {

// One bool for each component, in the order of the element as written.
using ComponentMask = std::vector<bool>;

bool AnyOf(const ComponentMask& mask);
bool AllOf(const ComponentMask& mask);

// Returns the components of `there` that are `needed`; if there are none, the
// first of `there`, because an element must keep a component.
ComponentMask Kept(const ComponentMask& there, const ComponentMask& needed);

// Returns `needed`, or the first component if none is needed.
ComponentMask FirstIfNone(const ComponentMask& needed);

// Adds the components of `in` that are named `component` or that `expr` uses.
void AddNeeded(const std::string& component, const ElementSpec& in,
               ComponentMask& needed);
void AddNeeded(const Expr& expr, const ElementSpec& in, ComponentMask& needed);

// Same for a ragged layout: each component of `in` with a dimension is followed
// by <name>_offsets.
ComponentMask NeededByRagged(const ElementSpec& in,
                             const ComponentMask& needed);
ComponentMask MadeByRagged(const ElementSpec& in, const ComponentMask& made);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_COMPONENT_MASK_H_

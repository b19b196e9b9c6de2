#include "core/dataset/component_mask.h"

#include <algorithm>

#include "core/chunk/validity.h"
#include "core/dataset/type_inference.h"

namespace feedmill {

bool AnyOf(const ComponentMask& mask) {
  return std::find(mask.begin(), mask.end(), true) != mask.end();
}

bool AllOf(const ComponentMask& mask) {
  return std::find(mask.begin(), mask.end(), false) == mask.end();
}

ComponentMask Kept(const ComponentMask& there, const ComponentMask& needed) {
  ComponentMask kept(there.size());
  for (size_t c = 0; c < there.size(); ++c) kept[c] = there[c] && needed[c];
  const auto first = std::find(there.begin(), there.end(), true);
  if (!AnyOf(kept) && first != there.end()) {
    kept[static_cast<size_t>(first - there.begin())] = true;
  }
  return kept;
}

ComponentMask FirstIfNone(const ComponentMask& needed) {
  return Kept(ComponentMask(needed.size(), true), needed);
}

void AddNeeded(const std::string& component, const ElementSpec& in,
               ComponentMask& needed) {
  const auto found = FindComponent(in, component);
  if (!found.ok()) return;  // it names a dtype
  needed[*found] = true;
  const std::span components(in.components);
  if (MayBeNull(components, *found)) needed[*found + 1] = true;
  if (IsValidity(components, *found)) needed[*found - 1] = true;
}

void AddNeeded(const Expr& expr, const ElementSpec& in, ComponentMask& needed) {
  if (const auto* component = std::get_if<Expr::Component>(&expr.node())) {
    AddNeeded(component->name, in, needed);
  } else if (const auto* call = std::get_if<Expr::Call>(&expr.node())) {
    for (const Expr& argument : call->arguments) {
      AddNeeded(argument, in, needed);
    }
  }
}

ComponentMask NeededByRagged(const ElementSpec& in,
                             const ComponentMask& needed) {
  ComponentMask out(in.components.size());
  size_t at = 0;
  for (size_t c = 0; c < out.size(); ++c) {
    out[c] = needed[at++];
    if (!in.components[c].shape.empty()) out[c] = needed[at++] || out[c];
  }
  return out;
}

ComponentMask MadeByRagged(const ElementSpec& in, const ComponentMask& made) {
  ComponentMask out;
  for (size_t c = 0; c < made.size(); ++c) {
    out.push_back(made[c]);
    if (!in.components[c].shape.empty()) out.push_back(made[c]);
  }
  return out;
}

}  // namespace feedmill

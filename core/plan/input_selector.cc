#include "core/plan/input_selector.h"

namespace feedmill {

std::optional<InputSelector::Selection> InputSelector::Selection::Without(
    SelectableInputs::Next look, size_t input) {
  if (look == SelectableInputs::Next::kBad) return Selection{Kind::kBad, input};
  if (look == SelectableInputs::Next::kLeftOut)
    return Selection{Kind::kLeftOut, input};
  return std::nullopt;
}

}  // namespace feedmill

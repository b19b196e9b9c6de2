#include "core/operators/input_checks.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

constexpr size_t kInputsMax = 1000;

}  // namespace

absl::Status CheckInputs(const std::vector<Graph>& inputs,
                         std::span<const ElementSpec> specs) {
  if (inputs.empty()) return InvalidArgument("the list of inputs is empty");
  if (inputs.size() > kInputsMax) {
    return InvalidArgument("more than {} inputs", kInputsMax);
  }
  if (inputs.size() == specs.size()) return absl::OkStatus();
  return Internal("{} specs for {} inputs", specs.size(), inputs.size());
}

absl::StatusOr<ElementSpec> CommonSpec(std::span<const ElementSpec> inputs) {
  ElementSpec out = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto& others = inputs[i].components;
    bool same = others.size() == out.components.size();
    for (size_t c = 0; same && c < others.size(); ++c) {
      ComponentSpec& one = out.components[c];
      same = one.name == others[c].name && one.dtype == others[c].dtype &&
             one.shape.size() == others[c].shape.size();
      if (one.logical != others[c].logical) one.logical = LogicalType::kNone;
      for (size_t d = 0; same && d < one.shape.size(); ++d) {
        if (one.shape[d] != others[c].shape[d]) one.shape[d] = kUnknownDim;
      }
    }
    if (same) continue;
    return InvalidArgument(
        "the inputs make different elements: inputs[0] {}, inputs[{}] {}. Let "
        "a map in the steps of one give it the components of the other: the "
        "same names in the same order, dtypes and numbers of dimensions",
        inputs[0].ToString(), i, inputs[i].ToString());
  }
  return out;
}

bool AnyIsInfinite(const std::vector<Graph>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Graph& input) { return IsInfinite(input); });
}

bool AllAreInfinite(const std::vector<Graph>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const Graph& input) { return IsInfinite(input); });
}

}  // namespace feedmill

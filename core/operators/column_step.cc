#include "core/operators/column_step.h"

#include "core/dataset/source_types.h"
#include "core/dataset/type_inference.h"
#include "core/operators/type_checks.h"

namespace feedmill {

absl::StatusOr<ElementSpec> SpecOf(const std::vector<ChosenColumn>& columns,
                                   const StepInput& in) {
  ElementSpec out;
  for (const ChosenColumn& column : columns) {
    if (column.expr == nullptr) {
      const ComponentSpec& c = in.spec.components[column.input];
      out.components.push_back({column.name, c.dtype, c.shape});
      continue;
    }
    FM_ASSIGN_OR_RETURN(
        ElementSpec made,
        InferOutputs({{column.name, *column.expr}}, in.spec, in.functions));
    out.components.push_back(std::move(made.components[0]));
  }
  FM_RETURN_IF_ERROR(CheckComponentNames(out));
  return out;
}

ComponentMask NeededBy(const std::vector<ChosenColumn>& columns,
                       const ElementSpec& in, const ComponentMask& needed) {
  const ComponentMask made = FirstIfNone(needed);
  ComponentMask out(in.components.size());
  for (size_t k = 0; k < columns.size(); ++k) {
    if (!made[k]) continue;
    if (columns[k].expr != nullptr) {
      AddNeeded(*columns[k].expr, in, out);
    } else {
      out[columns[k].input] = true;
    }
  }
  return out;
}

ComponentMask MadeBy(const std::vector<ChosenColumn>& columns,
                     const ComponentMask& made, const ComponentMask& needed) {
  ComponentMask out = FirstIfNone(needed);
  for (size_t k = 0; k < columns.size(); ++k) {
    if (columns[k].expr == nullptr) out[k] = out[k] && made[columns[k].input];
  }
  return out;
}

std::vector<ChosenColumn> AllColumns(const ElementSpec& in) {
  std::vector<ChosenColumn> columns;
  for (size_t c = 0; c < in.components.size(); ++c) {
    columns.push_back({NameOrX(in.components[c]), nullptr, c});
  }
  return columns;
}

}  // namespace feedmill

#include "core/operators/column_step.h"

#include "core/chunk/validity.h"
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
      out.components.push_back({column.name, c.dtype, c.shape, c.logical});
      continue;
    }
    FM_ASSIGN_OR_RETURN(
        ElementSpec made,
        InferOutputs({{column.name, *column.expr}}, in.spec, in.functions));
    ComponentSpec& one = made.components[column.validity ? 1 : 0];
    one.name = column.name;
    out.components.push_back(std::move(one));
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

absl::StatusOr<size_t> FindColumn(const ElementSpec& in,
                                  const std::string& name) {
  FM_ASSIGN_OR_RETURN(const size_t found, FindComponent(in, name));
  if (!IsValidity(std::span(in.components), found)) return found;
  return InvalidArgument(
      "\"{}\" is a part of \"{}\", which may be null, and stays with it", name,
      in.components[found - 1].name);
}

void AddColumn(const std::string& name, size_t input, const ElementSpec& in,
               std::vector<ChosenColumn>& columns) {
  columns.push_back({name, nullptr, input});
  if (!MayBeNull(std::span(in.components), input)) return;
  columns.push_back({ValidityName(name), nullptr, input + 1});
}

void RemoveColumn(size_t input, const ElementSpec& in,
                  std::vector<ChosenColumn>& columns) {
  const bool nullable = MayBeNull(std::span(in.components), input);
  std::erase_if(columns, [&](const ChosenColumn& column) {
    return column.expr == nullptr &&
           (column.input == input || (nullable && column.input == input + 1));
  });
}

std::vector<ChosenColumn> AllColumns(const ElementSpec& in) {
  std::vector<ChosenColumn> columns;
  for (size_t c = 0; c < in.components.size(); ++c) {
    columns.push_back({NameOrX(in.components[c]), nullptr, c});
  }
  return columns;
}

}  // namespace feedmill

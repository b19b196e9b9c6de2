#include "core/pipeline/row_parts.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace feedmill {
namespace {

Column CutColumn(const Column& column, std::span<const RowPart> parts) {
  std::vector<int64_t> shapes;
  std::vector<int64_t> starts{column.RowStart(0)};
  for (size_t k = 0; k < parts.size(); ++k) {
    const size_t row = parts[k].row;
    const bool whole = (k == 0 || parts[k - 1].row != row) &&
                       (k + 1 == parts.size() || parts[k + 1].row != row);
    const auto dims = column.RowDims(row);
    const int64_t length = whole ? dims[0] : parts[k].length;
    shapes.push_back(length);
    shapes.insert(shapes.end(), dims.begin() + 1, dims.end());
    const int64_t each = dims[0] == 0 ? 0 : column.RowItems(row) / dims[0];
    starts.push_back(starts.back() + length * each);
  }
  Column out = column;
  out.shape.assign(column.shape.size(), kUnknownDim);
  out.row_shapes = Buffer::CopyOf(std::as_bytes(std::span(shapes)));
  out.row_starts = Buffer::CopyOf(std::as_bytes(std::span(starts)));
  return out;
}

// Row r of `values` becomes one value for each of its parts.
template <class T>
void Repeat(std::span<const RowPart> parts, std::vector<T>& values) {
  if (values.empty()) return;
  std::vector<T> all;
  all.reserve(parts.size());
  for (const RowPart& part : parts) all.push_back(values[part.row]);
  values = std::move(all);
}

}  // namespace

void CutRows(std::span<const RowPart> parts, Flow& flow) {
  if (flow.chunk.rows == 0) return;
  auto spec = std::make_shared<ElementSpec>(*flow.chunk.spec);
  for (size_t c = 0; c < flow.chunk.columns.size(); ++c) {
    Column& column = flow.chunk.columns[c];
    column = CutColumn(column, parts);
    spec->components[c].shape[0] = kUnknownDim;
  }
  if (flow.inputs.empty()) {
    for (size_t row = 0; row < flow.chunk.rows; ++row) {
      flow.inputs.push_back(flow.first_input + row);
    }
  }
  flow.chunk.spec = std::move(spec);
  flow.chunk.rows = parts.size();
  Repeat(parts, flow.inputs);
  Repeat(parts, flow.counters);
  Repeat(parts, flow.passes);
  Repeat(parts, flow.origins);
}

}  // namespace feedmill

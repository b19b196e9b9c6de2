#include "core/operators/row_choice.h"

#include <utility>

#include "core/chunk/chunk_builder.h"

namespace feedmill {

Flow RowsOf(const Flow& flow, std::span<const size_t> rows) {
  Flow out;
  ChunkBuilder builder(flow.chunk.spec);
  for (const size_t row : rows) {
    for (size_t c = 0; c < flow.chunk.columns.size(); ++c) {
      builder.AppendRows(c, flow.chunk.columns[c], row, row + 1);
    }
    builder.FinishRows(1);
    out.inputs.push_back(flow.InputOf(row));
    out.AddOrigins(flow, row, row + 1);
    if (flow.passes.empty()) continue;
    out.counters.push_back(flow.counters[row]);
    out.passes.push_back(flow.passes[row]);
  }
  out.chunk = std::move(builder).Finish();
  return out;
}

}  // namespace feedmill

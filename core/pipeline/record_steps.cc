#include "core/pipeline/record_steps.h"

#include <algorithm>

namespace feedmill {

void RecordSteps::Run(size_t first, size_t count) const {
  BlockProgram::Input& in = scratch_.records_in;
  InputBlock& block = scratch_.block;
  size_t begin = first;
  size_t end = first + count;
  size_t all = block.rows;
  if (block.dropped) {  // translate to the rows that are present
    const auto& origins = block.origins;
    const auto at = [&origins](size_t row) {
      return static_cast<size_t>(
          std::lower_bound(origins.begin(), origins.end(), row) -
          origins.begin());
    };
    begin = at(begin);
    end = at(end);
    all = origins.size();
  }
  in.rows = end - begin;
  in.numbered = program_.naming == StageProgram::Naming::kRuns || block.dropped;
  in.columns.clear();
  const bool whole = in.rows == all;
  scratch_.slices.clear();
  scratch_.slices.reserve(block.columns.size());
  for (EncodedColumn& column : block.columns) {
    in.columns.push_back(column.Encoded());
    if (whole) continue;
    in.columns.back() =
        in.columns.back().Slice(begin, end, scratch_.slices.emplace_back());
  }
  in.counters = scratch_.counters;
  in.passes = scratch_.passes;
  if (!scratch_.counters.empty()) {
    in.counters = in.counters.subspan(begin, in.rows);
    in.passes = in.passes.subspan(begin, in.rows);
  }
  if (in.rows == 0 && count > 0) {
    scratch_.records_out = {};
  } else {
    program_.records->Run(in, *scratch_.records, scratch_.records_out);
  }
  if (block.dropped) Widen(first, count, begin);
}

// Translates records_out to row numbers of the block, [first, first + count).
// Only some of these rows were present; the first that entered the program was
// present row `begin`.
void RecordSteps::Widen(size_t first, size_t count, size_t begin) const {
  BlockProgram::Output& out = scratch_.records_out;
  const std::vector<uint32_t>& there = scratch_.block.origins;
  scratch_.origins.clear();
  scratch_.kept.assign((count + 63) / 64, 0);
  for (size_t row = 0; row < out.rows; ++row) {
    const size_t origin = there[begin + out.OriginOf(row)] - first;
    scratch_.origins.push_back(static_cast<uint32_t>(origin));
    scratch_.kept[origin / 64] |= uint64_t{1} << origin % 64;
  }
  if (!out.error.ok()) out.failed_row = there[begin + out.failed_row] - first;
  out.origins = scratch_.origins;
  out.kept = scratch_.kept;
  out.dropped = true;
}

}  // namespace feedmill

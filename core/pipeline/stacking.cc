#include "core/pipeline/stacking.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"

namespace feedmill {
namespace {

bool AllEqual(std::span<const size_t> groups) {
  return std::all_of(groups.begin(), groups.end(),
                     [&](size_t group) { return group == groups.front(); });
}

// True if rows [begin, end) have one shape.
bool SameDims(const Column& rows, size_t begin, size_t end) {
  const auto dims = rows.RowDims(begin);
  for (size_t row = begin + 1; row < end; ++row) {
    if (!std::ranges::equal(dims, rows.RowDims(row))) return false;
  }
  return true;
}

absl::Status RowsDiffer(const Column& rows, size_t begin, size_t end) {
  const Shape first = rows.RowShape(begin);
  for (size_t row = begin + 1; row < end; ++row) {
    const Shape other = rows.RowShape(row);
    if (other != first) {
      return DataLoss(
          "rows of a batch differ in shape: row 0 is {}, row {} is {}; give "
          "them one shape before (images: resize), or make it a padded_batch "
          "or a ragged_batch",
          ShapeToString(first), row - begin, ShapeToString(other));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status OfComponent(const absl::Status& status, const std::string& name) {
  if (name.empty()) return status;
  return Annotate(status, fmt::format("component \"{}\"", name));
}

absl::Status StackRows(const Column& rows, std::span<const size_t> groups,
                       Column& out, size_t& failed_group) {
  FM_CHECK(!groups.empty());
  out.dtype = rows.dtype;
  out.values = rows.values;
  out.offsets = rows.offsets;
  out.row_shapes = {};
  out.row_starts = {};
  if (!rows.ragged() && AllEqual(groups)) {
    out.shape.assign(1, static_cast<int64_t>(groups.front()));
    out.shape.insert(out.shape.end(), rows.shape.begin(), rows.shape.end());
    return absl::OkStatus();
  }
  BufferBuilder shapes;
  BufferBuilder starts;
  starts.Push(rows.RowStart(0));
  bool uniform = true;
  size_t begin = 0;
  for (size_t k = 0; k < groups.size(); ++k) {
    const size_t end = begin + groups[k];
    if (rows.ragged() && !SameDims(rows, begin, end)) {
      failed_group = k;
      return RowsDiffer(rows, begin, end);
    }
    const auto dims = rows.RowDims(begin);
    uniform = uniform && groups[k] == groups.front() &&
              std::ranges::equal(dims, rows.RowDims(0));
    shapes.Push(static_cast<int64_t>(groups[k]));
    shapes.Append(dims.data(), dims.size_bytes());
    starts.Push(rows.RowStart(end));
    begin = end;
  }
  const auto dims = rows.RowDims(0);
  out.shape.assign(1, static_cast<int64_t>(groups.front()));
  out.shape.insert(out.shape.end(), dims.begin(), dims.end());
  if (uniform && rows.RowStart(0) == 0) {
    const auto items = static_cast<size_t>(rows.RowStart(begin));
    if (rows.dtype == DType::kBytes) {
      out.offsets = rows.offsets.Slice(0, (items + 1) * sizeof(int64_t));
    } else {
      out.values = rows.values.Slice(0, items * ItemSize(rows.dtype));
    }
    return absl::OkStatus();
  }
  for (size_t d = 0; d < out.shape.size(); ++d) {
    for (size_t k = 0; k < groups.size(); ++k) {
      if (shapes.As<int64_t>()[k * out.shape.size() + d] != out.shape[d]) {
        out.shape[d] = kUnknownDim;
        break;
      }
    }
  }
  out.row_shapes = std::move(shapes).Freeze();
  out.row_starts = std::move(starts).Freeze();
  return absl::OkStatus();
}

void UnstackRows(const Column& rows, size_t row_count, Column& out,
                 std::vector<size_t>& groups) {
  FM_CHECK(!rows.shape.empty());
  out.dtype = rows.dtype;
  out.values = rows.values;
  out.offsets = rows.offsets;
  out.row_shapes = {};
  out.row_starts = {};
  out.shape.assign(rows.shape.begin() + 1, rows.shape.end());
  groups.clear();
  if (!rows.ragged()) {
    groups.assign(row_count, static_cast<size_t>(rows.shape.front()));
    return;
  }
  BufferBuilder shapes;
  BufferBuilder starts;
  starts.Push(rows.RowStart(0));
  for (size_t row = 0; row < row_count; ++row) {
    const auto dims = rows.RowDims(row);
    const int64_t records = dims.front();
    const int64_t start = rows.RowStart(row);
    const int64_t each = records == 0 ? 0 : rows.RowItems(row) / records;
    groups.push_back(static_cast<size_t>(records));
    for (int64_t k = 1; k <= records; ++k) {
      shapes.Append(dims.data() + 1, dims.size_bytes() - sizeof(int64_t));
      starts.Push(start + k * each);
    }
  }
  out.row_shapes = std::move(shapes).Freeze();
  out.row_starts = std::move(starts).Freeze();
}

}  // namespace feedmill

#ifndef FEEDMILL_CORE_OPS_STRIDED_VIEW_H_
#define FEEDMILL_CORE_OPS_STRIDED_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// A selection or reordering of the items of a row: dims, the distance of
// neighbours along each dim in items, and the index of the first item.
struct StridedView {
  Shape dims;
  Shape strides;
  int64_t offset = 0;

  // Returns the view of a whole row with these dims, which may be unknown.
  static StridedView Whole(std::span<const int64_t> whole);
  // Keeps [begin, begin + size) of an axis.
  void Narrow(size_t axis, int64_t begin, int64_t size);
  void Reverse(size_t axis);
  // Axis k becomes the old axis order[k].
  void Permute(std::span<const size_t> order);
};

// Copies `count` runs of `bytes` each to adjacent memory; runs begin `stride`
// bytes apart.
void CopyRunsOf(size_t bytes, const std::byte* from, int64_t stride,
                int64_t count, std::byte* to);

// Computes a function's view of its first argument from the dims of one row and
// from constants in `types`. When the expression is compiled, dims may be
// kUnknownDim, also in the result. InvalidArgument if the arguments do
// not fit; for a row this is a data error.
using ViewFunction = std::function<absl::StatusOr<StridedView>(
    std::span<const ValueType* const> types, std::span<const int64_t> dims)>;
FunctionRegistry::Function MakeViewFunction(ViewFunction view);

// Copies rows through `view`.
absl::Status ComputeView(const ViewFunction& view,
                         std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out);

// Same; `merge` computes the dims of the result from the dims of the view. It
// keeps their product.
using MergeDims = std::function<Shape(Shape dims)>;
absl::Status ComputeView(const ViewFunction& view, const MergeDims& merge,
                         std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_STRIDED_VIEW_H_

#ifndef FEEDMILL_CORE_OPS_STRIDED_VIEW_H_
#define FEEDMILL_CORE_OPS_STRIDED_VIEW_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// Items of a row in another order, or some of them: dims with the distance
// between neighbours, in items of the row, from its item `offset` on.
struct StridedView {
  Shape dims;
  Shape strides;
  int64_t offset = 0;

  // All of a row of these dims, unknown ones included.
  static StridedView Whole(std::span<const int64_t> whole);
  // Keeps [begin, begin + size) of an axis.
  void Narrow(size_t axis, int64_t begin, int64_t size);
  void Reverse(size_t axis);
  // Axis k becomes the old axis order[k].
  void Permute(std::span<const size_t> order);
};

// A function whose result is a view of its first argument, computed from the
// dims of one row and from constants in `types`. Dims are kUnknownDim at
// building time where they are not known; those of the view may be then, too.
// InvalidArgument for what does not fit, which is a data error in a row.
using ViewFunction = std::function<absl::StatusOr<StridedView>(
    std::span<const ValueType* const> types, std::span<const int64_t> dims)>;
FunctionRegistry::Function MakeViewFunction(ViewFunction view);

// Copies rows through `view`.
absl::Status ComputeView(const ViewFunction& view,
                         std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out);

// The same, with the dims of the result made of the view's by `merge`, which
// keeps their product.
using MergeDims = std::function<Shape(Shape dims)>;
absl::Status ComputeView(const ViewFunction& view, const MergeDims& merge,
                         std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_STRIDED_VIEW_H_

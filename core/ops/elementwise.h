#ifndef FEEDMILL_CORE_OPS_ELEMENTWISE_H_
#define FEEDMILL_CORE_OPS_ELEMENTWISE_H_

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/ops/loops.h"

namespace feedmill {

// A call of a function on single items, with its dtypes resolved.
struct ElementwiseCall {
  std::array<DType, 3> operands{};  // the loop's; arguments are converted
  DType result = DType::kInt64;
  Loop loop = nullptr;
  // Text of the DataLoss if an item has no result.
  const char* bad_item = "";
  // True if the loop only copies: the converted operand is the result.
  bool converts = false;
};

// Runs the call over all rows and broadcasts rows of different shapes as NumPy
// does. Errors: DataLoss with out.failed_row.
// The common cases (rows of one shape, constants, ragged columns of the same
// shapes) are one pass of the loop over dense memory. If an argument has to be
// converted or broadcast, the pass runs in tiles that stay in cache.
// REQUIRES: 1 to 3 arguments.
absl::Status RunElementwise(const ElementwiseCall& call,
                            std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out);

// Loads the item of a constant, converted to `as` for a loop. REQUIRES: one
// item; neither dtype is kBytes.
void LoadConstant(const Argument& constant, DType as, void* item);

// A FunctionRegistry::Function::compute for functions on single items. The
// compiler of expressions can ask it for its loop.
class ElementwiseCompute {
 public:
  // Chooses the dtypes and the loop of a call for arguments of these types.
  // InvalidArgument if the types do not fit.
  using Resolver = std::function<absl::StatusOr<ElementwiseCall>(
      std::span<const ValueType* const> types)>;

  // The first `items` arguments are operands of the loop; the others are
  // parameters.
  ElementwiseCompute(size_t arity, size_t items, Resolver resolve)
      : arity_(arity), items_(items), resolve_(std::move(resolve)) {}

  // Number of arguments that are operands of the loop; they come first.
  size_t items() const { return items_; }
  absl::StatusOr<ElementwiseCall> Resolve(
      std::span<const ValueType* const> types) const {
    return resolve_(types);
  }
  absl::Status operator()(std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) const;

 private:
  size_t arity_;
  size_t items_;
  Resolver resolve_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_ELEMENTWISE_H_

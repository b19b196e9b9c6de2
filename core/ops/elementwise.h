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

// A function that acts on each item alone, with its dtypes chosen.
struct ElementwiseCall {
  std::array<DType, 3> operands{};  // the loop's; arguments are converted
  DType result = DType::kInt64;
  Loop loop = nullptr;
  // Said with DataLoss when the loop finds an item without a result.
  const char* bad_item = "";
  // The loop only copies: the operand, converted, is the result.
  bool converts = false;
};

// Runs the call over all rows, broadcasting the arguments' rows to each other
// as NumPy does. The common forms (rows of one shape, constants, ragged
// columns of the same shapes) are one pass of the loop over dense memory, in
// tiles that stay in cache where an argument has to be converted or spread.
// Errors: DataLoss with out.failed_row.
// REQUIRES: 1 to 3 arguments.
absl::Status RunElementwise(const ElementwiseCall& call,
                            std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out);

// The item of a constant, as a loop that takes `as` gets it.
// REQUIRES: one item; neither dtype is kBytes.
void LoadConstant(const Argument& constant, DType as, void* item);

// FunctionRegistry::Function::compute of a function that acts on each item
// alone, so that what compiles expressions can ask for its loop.
class ElementwiseCompute {
 public:
  // Chooses the dtypes and the loop of a call of such arguments, or says what
  // does not fit.
  using Resolver = std::function<absl::StatusOr<ElementwiseCall>(
      std::span<const ValueType* const> types)>;

  // Of the first `items` arguments; others only say what is to be done.
  ElementwiseCompute(size_t arity, size_t items, Resolver resolve)
      : arity_(arity), items_(items), resolve_(std::move(resolve)) {}

  // How many of the arguments are operands of the loop, the first ones.
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

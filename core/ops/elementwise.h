#ifndef FEEDMILL_CORE_OPS_ELEMENTWISE_H_
#define FEEDMILL_CORE_OPS_ELEMENTWISE_H_

#include <array>
#include <cstddef>
#include <span>

#include "absl/status/status.h"
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

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_ELEMENTWISE_H_

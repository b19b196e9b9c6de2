#ifndef FEEDMILL_CORE_OPS_DIVISIBLE_H_
#define FEEDMILL_CORE_OPS_DIVISIBLE_H_

#include "core/dataset/function_registry.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// Computes x % n == 0 (`divisible`) or x % n != 0 as one function of (x, n),
// without the remainder. REQUIRES: IsTestedForDivisors(dtype of x); x % n has
// the same dtype; n is a constant and not 0.
const FunctionRegistry::Function& DivisibleFunction(bool divisible);
bool IsTestedForDivisors(DType dtype);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_DIVISIBLE_H_

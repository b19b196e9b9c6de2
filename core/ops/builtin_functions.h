#ifndef FEEDMILL_CORE_OPS_BUILTIN_FUNCTIONS_H_
#define FEEDMILL_CORE_OPS_BUILTIN_FUNCTIONS_H_

#include "core/dataset/function_registry.h"

namespace feedmill {

// Returns all functions of docs/expressions.md.
FunctionRegistry BuiltinFunctions();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_BUILTIN_FUNCTIONS_H_

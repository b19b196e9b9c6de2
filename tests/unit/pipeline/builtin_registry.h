#ifndef FEEDMILL_TESTS_UNIT_PIPELINE_BUILTIN_REGISTRY_H_
#define FEEDMILL_TESTS_UNIT_PIPELINE_BUILTIN_REGISTRY_H_

#include <memory>

#include "core/dataset/function_registry.h"
#include "core/ops/builtin_functions.h"

namespace feedmill {

// The built-in functions of expressions.
inline std::shared_ptr<const FunctionRegistry> BuiltinRegistry() {
  static const auto functions =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  return functions;
}

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_PIPELINE_BUILTIN_REGISTRY_H_

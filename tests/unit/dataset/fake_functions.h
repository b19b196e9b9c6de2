#ifndef FEEDMILL_TESTS_UNIT_DATASET_FAKE_FUNCTIONS_H_
#define FEEDMILL_TESTS_UNIT_DATASET_FAKE_FUNCTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/function_registry.h"

namespace feedmill::testing {

// Functions with simple types only: int64 arithmetic, comparisons to bool, the
// shape of the first argument. For tests of code that uses functions.
inline FunctionRegistry FakeFunctions() {
  FunctionRegistry registry;
  const auto of_numbers = [](DType result) {
    return [result](const std::vector<ValueType>& arguments)
               -> absl::StatusOr<ValueType> {
      ValueType type;
      type.dtype = result;
      for (const ValueType& argument : arguments) {
        if (argument.dtype == DType::kBytes) {
          return InvalidArgument("bytes are no numbers");
        }
        if (!argument.shape.empty()) type.shape = argument.shape;
      }
      return type;
    };
  };
  for (const char* name : {"add", "subtract", "multiply", "remainder"}) {
    registry.Add(name, {of_numbers(DType::kInt64), nullptr, false});
  }
  for (const char* name : {"equal", "not_equal", "less", "greater"}) {
    registry.Add(name, {of_numbers(DType::kBool), nullptr, false});
  }
  registry.Add("cast", {[](const std::vector<ValueType>& arguments)
                            -> absl::StatusOr<ValueType> {
                          const auto* name = std::get_if<std::string>(
                              &arguments[1].literal->value);
                          ValueType type;
                          type.dtype = *DTypeFromName(*name);
                          type.shape = arguments[0].shape;
                          return type;
                        },
                        nullptr, false});
  return registry;
}

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_DATASET_FAKE_FUNCTIONS_H_

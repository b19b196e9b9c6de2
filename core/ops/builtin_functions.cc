#include "core/ops/builtin_functions.h"

#include <memory>

#include "core/base/status.h"
#include "core/dataset/nullable.h"
#include "core/ops/function_families.h"
#include "core/ops/lookup_functions.h"

namespace feedmill {

absl::Status ExpectArguments(std::string_view function, size_t given,
                             size_t count) {
  if (given == count) return absl::OkStatus();
  return InvalidArgument("{} takes {} argument{}, not {}", function, count,
                         count == 1 ? "" : "s", given);
}

FunctionRegistry BuiltinFunctions() {
  FunctionRegistry registry;
  AddElementwiseFunctions(registry);
  AddNullFunctions(registry);
  AddReductions(registry);
  AddPlaceFunctions(registry);
  AddShapingFunctions(registry);
  AddSlicingFunctions(registry);
  AddTensorFunctions(registry);
  AddJoiningFunctions(registry);
  AddMatrixFunctions(registry);
  AddOrderingFunctions(registry);
  AddImageFunctions(registry);
  AddImageResizing(registry);
  AddImageDecoding(registry);
  AddImageRotation(registry);
  AddImageBlur(registry);
  AddAugmentingFunctions(registry);
  AddMixingFunctions(registry);
  AddBoxFunctions(registry);
  AddColorFunctions(registry);
  AddRandomFunctions(registry);
  AddRandomImageFunctions(registry);
  AddStringFunctions(registry);
  AddUnicodeFunctions(registry);
  AddDateFunctions(registry);
  AddParsingFunctions(registry);
  AddRegexFunctions(registry);
  AddLookupFunctions(registry, std::make_shared<const LoadedFiles>());
  return registry;
}

}  // namespace feedmill

#ifndef FEEDMILL_CORE_OPS_FUNCTION_FAMILIES_H_
#define FEEDMILL_CORE_OPS_FUNCTION_FAMILIES_H_

#include "core/dataset/function_registry.h"

namespace feedmill {

// The parts of BuiltinFunctions(), one file each.
void AddElementwiseFunctions(FunctionRegistry& registry);
void AddReductions(FunctionRegistry& registry);
void AddPlaceFunctions(FunctionRegistry& registry);    // argmin, argmax, cumsum
void AddShapingFunctions(FunctionRegistry& registry);  // full
void AddSlicingFunctions(FunctionRegistry& registry);  // getslice, len, …
void AddTensorFunctions(FunctionRegistry& registry);   // slice, reshape, …
void AddOrderingFunctions(FunctionRegistry& registry);  // sort, isin, …
void AddMatrixFunctions(FunctionRegistry& registry);    // matmul
void AddStringFunctions(FunctionRegistry& registry);    // strip, split, …
void AddUnicodeFunctions(FunctionRegistry& registry);   // utf8_lower, …
void AddParsingFunctions(FunctionRegistry& registry);   // to_number, …
void AddRegexFunctions(FunctionRegistry& registry);     // re_match, …
void AddImageFunctions(FunctionRegistry& registry);     // image.crop, …
void AddImageResizing(FunctionRegistry& registry);      // image.resize
void AddImageDecoding(FunctionRegistry& registry);      // image.decode
void AddImageRotation(FunctionRegistry& registry);      // image.rotate
void AddColorFunctions(FunctionRegistry& registry);     // image.adjust_hue, …
void AddRandomFunctions(FunctionRegistry& registry);    // random.uniform, …
void AddRandomImageFunctions(
    FunctionRegistry& registry);                       // image.random_crop, …
void AddJoiningFunctions(FunctionRegistry& registry);  // list, concat, stack

// InvalidArgument unless `given` is `count`.
absl::Status ExpectArguments(std::string_view function, size_t given,
                             size_t count);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_FUNCTION_FAMILIES_H_

#ifndef FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_
#define FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_

#include <string_view>

#include "absl/status/status.h"
#include "feedmill/element_spec.h"

namespace feedmill {

enum class Dims { kFixed, kMayBeUnknown };

// Reads "int64" or "float32[3, 2]" into a dtype and a shape, whose dims may be
// written "?" where `dims` allows it. InvalidArgument says what is wrong with
// `text`.
absl::Status ParseTypeText(std::string_view text, DType& dtype, Shape& shape,
                           Dims dims = Dims::kFixed);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_

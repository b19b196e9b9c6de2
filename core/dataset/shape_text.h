#ifndef FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_
#define FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_

#include <string_view>

#include "absl/status/status.h"
#include "feedmill/element_spec.h"

namespace feedmill {

enum class Dims { kFixed, kMayBeUnknown };

// Parses "int64" or "float32[3, 2]" into a dtype and a shape. If `dims` allows
// it, a dim may be "?". InvalidArgument says what is wrong with `text`.
absl::Status ParseTypeText(std::string_view text, DType& dtype, Shape& shape,
                           Dims dims = Dims::kFixed);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_

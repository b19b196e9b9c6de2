#ifndef FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_
#define FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "feedmill/element.h"

namespace feedmill {

enum class Dims { kFixed, kMayBeUnknown };

// Parses "int64", "str" or "float32[3, 2]" into a type and a shape. If `dims`
// allows it, a dim may be "?". InvalidArgument says what is wrong with `text`.
absl::Status ParseTypeText(std::string_view text, NamedType& type, Shape& shape,
                           Dims dims = Dims::kFixed);

// Reads a type, and the value after "=" that a record without the field has:
// "int64 = -1", "bytes = none", "bytes =" for an empty text.
absl::Status ParseTypeText(std::string_view text, NamedType& type, Shape& shape,
                           std::optional<std::string>& default_text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SHAPE_TEXT_H_

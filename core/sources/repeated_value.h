#ifndef FEEDMILL_CORE_SOURCES_REPEATED_VALUE_H_
#define FEEDMILL_CORE_SOURCES_REPEATED_VALUE_H_

#include <cstddef>
#include <optional>

#include "core/dataset/fields.h"
#include "core/sources/value_range.h"
#include "feedmill/element.h"

namespace feedmill {

// Returns a column of `rows` rows that all have the value `value`. Null, or a
// field that is no scalar: zeros, false, empty bytes and empty lists. REQUIRES:
// the alternative of `value` fits the field's dtype (value_range.h).
Column RepeatedValue(const SourceField& field, const Expr::Literal* value,
                     size_t rows);

// Returns the range of the only row of a scalar column; nullopt for NaN.
std::optional<ValueRange> OneValue(const Column& column);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_REPEATED_VALUE_H_

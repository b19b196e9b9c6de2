#ifndef FEEDMILL_CORE_SOURCES_VALUE_RANGE_H_
#define FEEDMILL_CORE_SOURCES_VALUE_RANGE_H_

#include "feedmill/expr.h"

namespace feedmill {

// The least and the largest value of a column in a group of rows, both
// inclusive. Bounds may be wider than the values. NaN is not covered.
//
// dtype          alternative of both literals
// bool           bool
// signed         int64_t
// unsigned       uint64_t
// floats         double
// bytes          std::string, ordered by their bytes as unsigned numbers
struct ValueRange {
  Expr::Literal low;
  Expr::Literal high;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_VALUE_RANGE_H_

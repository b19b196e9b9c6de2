#ifndef FEEDMILL_PLUGINS_ARROW_INT96_TIMES_H_
#define FEEDMILL_PLUGINS_ARROW_INT96_TIMES_H_

#include <arrow/array.h>
#include <arrow/result.h>

#include <memory>

namespace feedmill {

// INT96 of Parquet is a day and nanoseconds. Arrow converts it to int64 in one
// unit, without a check: in nanoseconds, a time outside of 1677 to 2262 wraps.
//
// Returns `nanos` if no time in it has wrapped. Otherwise its arrays of times
// that have become decimals of scale 0, the exact numbers of nanoseconds.
// `nanos` and `seconds` are the same array of a file, read in these units.
arrow::Result<std::shared_ptr<arrow::Array>> ExactInt96(
    const std::shared_ptr<arrow::Array>& nanos,
    const std::shared_ptr<arrow::Array>& seconds);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_INT96_TIMES_H_

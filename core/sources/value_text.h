#ifndef FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_
#define FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_

#include <string_view>

#include "core/chunk/buffer.h"
#include "core/chunk/dtype.h"

namespace feedmill {

// Appends the number that `text` writes, as one item of `dtype`: decimal
// integers in its range, floats (rounded to nearest; nan, inf), booleans
// (true, True, TRUE, 1 and the like). False: it writes none.
// REQUIRES: dtype is not kBytes; no spaces stand around the number.
bool AppendNumber(std::string_view text, DType dtype, BufferBuilder& values);

// Without spaces, tabs and line ends around it.
std::string_view TrimmedValue(std::string_view text);

// Appends what stands for no value: NaN, or an empty string if `dtype` is
// kBytes. False: the dtype has nothing for that.
bool AppendMissing(DType dtype, BufferBuilder& values);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_VALUE_TEXT_H_

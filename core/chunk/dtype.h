#ifndef FEEDMILL_CORE_CHUNK_DTYPE_H_
#define FEEDMILL_CORE_CHUNK_DTYPE_H_

#include <cstdint>

#include "feedmill/element.h"

namespace feedmill {

// True if `code` is a value of DType. For data from outside.
bool IsDTypeCode(uint8_t code);
// True if `code` is a LogicalType of items of that dtype.
bool IsLogicalTypeCode(uint8_t code, DType dtype);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_DTYPE_H_

#ifndef FEEDMILL_CORE_CHUNK_DTYPE_H_
#define FEEDMILL_CORE_CHUNK_DTYPE_H_

#include <cstdint>

namespace feedmill {

// True if `code` is a value of DType. For data from outside.
bool IsDTypeCode(uint8_t code);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_DTYPE_H_

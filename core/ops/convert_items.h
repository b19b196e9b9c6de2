#ifndef FEEDMILL_CORE_OPS_CONVERT_ITEMS_H_
#define FEEDMILL_CORE_OPS_CONVERT_ITEMS_H_

#include <cstddef>

#include "feedmill/element_spec.h"

namespace feedmill {

// Converts `count` items as NumPy's astype does on x86-64: integers wrap,
// floats truncate, a float that does not fit gives the hardware's answer
// (computed so that every machine gives it), to bool is != 0.
// The ranges must not overlap. REQUIRES: neither is kBytes.
void ConvertItems(DType from, const void* source, DType to, void* target,
                  size_t count);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_CONVERT_ITEMS_H_

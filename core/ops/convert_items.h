#ifndef FEEDMILL_CORE_OPS_CONVERT_ITEMS_H_
#define FEEDMILL_CORE_OPS_CONVERT_ITEMS_H_

#include <cstddef>

#include "feedmill/element.h"

namespace feedmill {

// Converts `count` items as NumPy's astype does on x86-64: integers wrap,
// floats truncate, and a conversion to bool tests != 0. A float that does not
// fit gives the result of x86-64 hardware, on every machine.
// The ranges must not overlap. REQUIRES: neither dtype is kBytes.
void ConvertItems(DType from, const void* source, DType to, void* target,
                  size_t count);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_CONVERT_ITEMS_H_

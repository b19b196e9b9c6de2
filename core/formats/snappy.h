#ifndef FEEDMILL_CORE_FORMATS_SNAPPY_H_
#define FEEDMILL_CORE_FORMATS_SNAPPY_H_

#include <span>
#include <string_view>

namespace feedmill {

// Decompresses a block of snappy without a frame. Returns false if it is
// damaged, or does not fill `out`.
bool DecompressSnappy(std::string_view packed, std::span<char> out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_SNAPPY_H_

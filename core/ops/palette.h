#ifndef FEEDMILL_CORE_OPS_PALETTE_H_
#define FEEDMILL_CORE_OPS_PALETTE_H_

#include <array>
#include <cstdint>

namespace feedmill {

// The RGB values of the indexes 0 to 255. Those that a file lacks are black.
using Palette = std::array<std::array<uint8_t, 3>, 256>;

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PALETTE_H_

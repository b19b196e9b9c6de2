#include "core/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace feedmill {

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80                    ? 1
                          : lead >= 0xc2 && lead <= 0xdf ? 2
                          : lead >= 0xe0 && lead <= 0xef ? 3
                          : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                         : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3fu);
    }
    if (length == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000)))
      return false;
    if (length == 4 && (point < 0x10000 || point > 0x10ffff)) return false;
    i += length;
  }
  return true;
}

}  // namespace feedmill

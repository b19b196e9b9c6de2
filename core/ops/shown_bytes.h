#ifndef FEEDMILL_CORE_OPS_SHOWN_BYTES_H_
#define FEEDMILL_CORE_OPS_SHOWN_BYTES_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

// Most characters of a value in a table for people.
inline constexpr size_t kShownCharacters = 40;

// Returns a byte string on one line, for people: "JPEG 500x375, 23,110 bytes"
// for an image, at most kShownCharacters of a text with escapes for control
// characters, and "1,024 bytes" for other bytes.
std::string ShownBytes(std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SHOWN_BYTES_H_

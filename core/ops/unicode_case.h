#ifndef FEEDMILL_CORE_OPS_UNICODE_CASE_H_
#define FEEDMILL_CORE_OPS_UNICODE_CASE_H_

#include <cstddef>
#include <cstdint>

namespace feedmill {

// Sets `to`, which has room for three, to the character in the other case, by
// Unicode's full mapping without conditions: "ß" becomes "SS", and "Σ" becomes
// "σ" at the end of a word, too. Returns the number of characters. REQUIRES:
// `code` is not ASCII.
size_t LowerCase(uint32_t code, uint32_t* to);
size_t UpperCase(uint32_t code, uint32_t* to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_UNICODE_CASE_H_

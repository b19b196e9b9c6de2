#ifndef FEEDMILL_CORE_OPS_SELECTED_ROWS_H_
#define FEEDMILL_CORE_OPS_SELECTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Selected rows of a block, as bits: row r is bit r % 64 of word r / 64. Bits
// after the last row are clear.

namespace feedmill {

inline constexpr size_t WordsOf(size_t rows) { return (rows + 63) / 64; }

// Sets the bits of the rows with keep != 0 in WordsOf(keep.size()) words, and
// clears all other bits. Returns the number of set bits.
size_t SelectRows(std::span<const uint8_t> keep, uint64_t* bits);

// Sets `rows` to the numbers of the rows whose bits are set, in increasing
// order.
void NumberRows(std::span<const uint64_t> bits, std::vector<uint32_t>& rows);

// Copies the items whose bits are set, of `rows` items of `item_bytes` each,
// without gaps. Returns their number. REQUIRES: `to` has room for all `rows`.
size_t CopySelected(const uint64_t* bits, size_t rows, size_t item_bytes,
                    const std::byte* from, std::byte* to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SELECTED_ROWS_H_

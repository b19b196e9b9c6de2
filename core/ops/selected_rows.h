#ifndef FEEDMILL_CORE_OPS_SELECTED_ROWS_H_
#define FEEDMILL_CORE_OPS_SELECTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Rows of a block that are kept, as bits: row r is bit r % 64 of word r / 64,
// and bits of rows that are not there are clear.

namespace feedmill {

inline constexpr size_t WordsOf(size_t rows) { return (rows + 63) / 64; }

// Sets the bits of the rows where `keep` is not zero, in WordsOf(keep.size())
// words, and clears the others. Returns how many were set.
size_t SelectRows(std::span<const uint8_t> keep, uint64_t* bits);

// The numbers of the rows whose bits are set, in increasing order.
void NumberRows(std::span<const uint64_t> bits, std::vector<uint32_t>& rows);

// Copies the items whose bits are set of `rows` items, `item_bytes` each, one
// after the other. Returns how many those are.
// REQUIRES: `to` has room for all `rows`.
size_t CopySelected(const uint64_t* bits, size_t rows, size_t item_bytes,
                    const std::byte* from, std::byte* to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SELECTED_ROWS_H_

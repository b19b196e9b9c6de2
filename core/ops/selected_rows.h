#ifndef FEEDMILL_CORE_OPS_SELECTED_ROWS_H_
#define FEEDMILL_CORE_OPS_SELECTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace feedmill {

// Rows of a block that are kept, as bits and as numbers.
struct SelectedRows {
  std::vector<uint64_t> bits;  // row r: bit r % 64 of word r / 64
  std::vector<uint32_t> rows;  // in increasing order
};

// Selects the rows where `keep` is not zero.
void SelectRows(std::span<const uint8_t> keep, SelectedRows& selected);

// Copies the selected items, `item_bytes` each, one after the other.
// REQUIRES: `to` has room for all rows that there were to select from.
void CopySelected(const SelectedRows& selected, size_t item_bytes,
                  const std::byte* from, std::byte* to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_SELECTED_ROWS_H_

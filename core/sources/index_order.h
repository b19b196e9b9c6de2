#ifndef FEEDMILL_CORE_SOURCES_INDEX_ORDER_H_
#define FEEDMILL_CORE_SOURCES_INDEX_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace feedmill {

// A record that is wanted, and in which row.
struct IndexedRow {
  uint64_t index = 0;
  size_t row = 0;

  friend auto operator<=>(const IndexedRow&, const IndexedRow&) = default;
};

// The wanted records in the order of their source; one that is wanted in
// several rows, in the order of these. `spare` is only memory.
void OrderByIndex(std::span<const uint64_t> indexes,
                  std::vector<IndexedRow>& ordered,
                  std::vector<IndexedRow>& spare);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_INDEX_ORDER_H_

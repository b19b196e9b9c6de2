#ifndef FEEDMILL_CORE_SOURCES_INDEX_ORDER_H_
#define FEEDMILL_CORE_SOURCES_INDEX_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace feedmill {

// A requested record, and the row for it.
struct IndexedRow {
  uint64_t index = 0;
  size_t row = 0;

  friend auto operator<=>(const IndexedRow&, const IndexedRow&) = default;
};

// Sorts the requested records by index, then by row. `spare` is scratch memory.
void OrderByIndex(std::span<const uint64_t> indexes,
                  std::vector<IndexedRow>& ordered,
                  std::vector<IndexedRow>& spare);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_INDEX_ORDER_H_

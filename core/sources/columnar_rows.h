#ifndef FEEDMILL_CORE_SOURCES_COLUMNAR_ROWS_H_
#define FEEDMILL_CORE_SOURCES_COLUMNAR_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dataset/fields.h"
#include "core/dataset/function_registry.h"
#include "core/sources/columnar_groups.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// Rows of a decoded group that stand together, and become rows of a block.
struct ColumnarRun {
  const DecodedGroup* group = nullptr;
  size_t first = 0;  // in the group
  size_t count = 0;
};

// Writes the rows of all runs, in their order, into columns of `fields`.
void CopyRuns(std::span<const ColumnarRun> runs,
              std::span<const SourceField> fields,
              std::vector<OutputColumn>& out);

// Bytes of items in row `row` of a decoded column.
uint64_t BytesOfRow(const Column& column, size_t row);

// Bytes of a row in a column of `field`; 0 if rows differ.
uint64_t FixedRowBytes(const SourceField& field);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COLUMNAR_ROWS_H_

#ifndef FEEDMILL_CORE_SOURCES_COLUMNAR_ROWS_H_
#define FEEDMILL_CORE_SOURCES_COLUMNAR_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dataset/fields.h"
#include "core/sources/columnar_groups.h"
#include "core/sources/encoded_column.h"
#include "feedmill/element.h"

namespace feedmill {

// Adjacent rows of a decoded group that become adjacent rows of a block.
struct ColumnarRun {
  const DecodedGroup* group = nullptr;
  size_t first = 0;  // in the group
  size_t count = 0;
};

// Copies the rows of all runs, in order, into columns of `fields`.
void CopyRuns(std::span<const ColumnarRun> runs,
              std::span<const SourceField> fields,
              std::vector<EncodedColumn>& out);

// Returns the rows of a run as views of the group's columns. Offsets and starts
// begin at 0: they are copies. REQUIRES: the group's `views`.
std::vector<Column> ViewRun(const ColumnarRun& run,
                            std::span<const SourceField> fields);

// Returns the bytes of the items in row `row` of a decoded column.
uint64_t BytesOfRow(const Column& column, size_t row);

// Returns the bytes of a row in a column of `field`; 0 if rows differ in size.
uint64_t FixedRowBytes(const SourceField& field);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COLUMNAR_ROWS_H_

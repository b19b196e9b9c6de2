#ifndef FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_
#define FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_

#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "core/dataset/fields.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// Returns the statistics of a column chunk that becomes `field` without a
// conversion. Dates, times, decimals and float16 have no range. May throw
// parquet::ParquetException.
ColumnStatistics StatisticsOfChunk(const parquet::ColumnChunkMetaData& chunk,
                                   const parquet::ColumnDescriptor& column,
                                   const SourceField& field);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_

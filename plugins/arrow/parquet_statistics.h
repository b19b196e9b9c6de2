#ifndef FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_
#define FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_

#include <arrow/type_fwd.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "core/dataset/fields.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// Returns the statistics of a column chunk of this Arrow type that becomes
// `field` without a conversion. Decimals that become texts, and float16, have
// no range. May throw parquet::ParquetException.
ColumnStatistics StatisticsOfChunk(const parquet::ColumnChunkMetaData& chunk,
                                   const parquet::ColumnDescriptor& column,
                                   const arrow::DataType& type,
                                   const SourceField& field);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_

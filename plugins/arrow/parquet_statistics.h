#ifndef FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_
#define FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <memory>

#include "core/dataset/fields.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// True if the statistics of a column chunk count a null. May throw
// parquet::ParquetException.
bool CountsNull(const parquet::ColumnChunkMetaData& chunk);

// Returns the statistics of a column chunk of this Arrow type that becomes
// `field` without a conversion. Decimals that become texts, and float16, have
// no range. May throw parquet::ParquetException.
ColumnStatistics StatisticsOfChunk(const parquet::ColumnChunkMetaData& chunk,
                                   const parquet::ColumnDescriptor& column,
                                   const arrow::DataType& type,
                                   const SourceField& field);

// INT96 of Parquet is a day and nanoseconds. Arrow converts it to int64 in one
// unit, without a check: in nanoseconds, a time outside of 1677 to 2262 wraps.
//
// Returns `nanos` if no time in it has wrapped. Otherwise its arrays of times
// that have become decimals of scale 0, the exact numbers of nanoseconds.
// `nanos` and `seconds` are the same array of a file, read in these units.
arrow::Result<std::shared_ptr<arrow::Array>> ExactInt96(
    const std::shared_ptr<arrow::Array>& nanos,
    const std::shared_ptr<arrow::Array>& seconds);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_PARQUET_STATISTICS_H_

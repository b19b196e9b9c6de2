#ifndef FEEDMILL_CORE_SOURCES_COLUMNAR_RECORDS_H_
#define FEEDMILL_CORE_SOURCES_COLUMNAR_RECORDS_H_

#include <memory>
#include <vector>

#include "core/dataset/fields.h"
#include "core/io/manifest.h"
#include "core/sources/columnar_file.h"
#include "core/sources/record_source.h"

namespace feedmill {

// Returns counted records: the rows of the files, with the columns `fields`.
// `live`, `filter`: see RecordSource::Make.
// `reader` must outlive the result.
std::unique_ptr<const RecordSource> MakeColumnarRecords(
    const ColumnarReader& reader, const ColumnarReading& reading,
    const std::vector<SourceField>& fields, const std::vector<bool>& live,
    std::shared_ptr<const Manifest> manifest, const RowFilter& filter = {});

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COLUMNAR_RECORDS_H_

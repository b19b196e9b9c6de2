#ifndef FEEDMILL_PLUGINS_ARROW_PARQUET_FILE_H_
#define FEEDMILL_PLUGINS_ARROW_PARQUET_FILE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/io/random_access_file.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// Opens a Parquet file by its footer.
absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenParquetFile(
    std::shared_ptr<const RandomAccessFile> file, uint64_t size);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_PARQUET_FILE_H_

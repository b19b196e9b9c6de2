#ifndef FEEDMILL_CORE_SOURCES_ARRAY_RECORDS_H_
#define FEEDMILL_CORE_SOURCES_ARRAY_RECORDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/manifest.h"
#include "core/io/random_access_file.h"
#include "core/sources/record_source.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// An array in a file: rows of one size, one after another.
struct FileArray {
  std::string name;
  DType dtype = DType::kInt64;  // kBytes: a row is one string of row_bytes
  Shape shape;                  // of a row
  uint64_t rows = 0;
  uint64_t row_bytes = 0;
  uint64_t offset = 0;  // of the first row
};

// Returns the arrays of an open file of `size` bytes, one for each component.
// All arrays have the same number of rows. Errors name the file.
using ArraysOfFile = std::function<absl::StatusOr<std::vector<FileArray>>(
    const RandomAccessFile& file, uint64_t size)>;

// Returns counted records of one size, whose places are computed. `live`: see
// RecordSource::Make.
std::unique_ptr<const RecordSource> MakeArrayRecords(
    ArraysOfFile arrays_of, const std::vector<bool>& live,
    std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ARRAY_RECORDS_H_

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
#include "feedmill/element.h"

namespace feedmill {

// Encoding of the items of an array in a file.
enum class StoredAs {
  kNative,       // as in memory; of bytes: a row is one string
  kSwapped,      // numbers whose bytes are in the opposite order
  kHalf,         // float16 that become float32
  kSwappedHalf,  // big-endian ones
  kPaddedBytes,  // texts of item_bytes, filled up with zeros
  kUcs4,         // the same of characters of 4 bytes each, which become UTF-8
  kSwappedUcs4,  // big-endian ones
};

// Rows of one size, one after the other in a file, or a part of each.
struct FileArray {
  std::string name;
  DType dtype = DType::kInt64;
  Shape shape;  // of a row
  uint64_t rows = 0;
  uint64_t row_bytes = 0;  // from one row to the next in the file
  uint64_t offset = 0;     // of the first row
  StoredAs stored = StoredAs::kNative;
  size_t item_bytes = 0;  // of an item, unless it is kNative
  uint64_t within = 0;    // offset of the array's part in each row
  std::string unit{};     // of times; the same in all files
  // Not empty: why the array cannot be read; then only `name` is valid.
  std::string unreadable{};
  // If set, the rows are not in the file as they are. Returns all of them, as
  // `row_bytes` and `within` say; `offset` is 0.
  std::function<absl::StatusOr<std::string>(const RandomAccessFile& file)>
      whole{};
  // Arrays of one file and name are parts of the same rows.
  std::string whole_name{};
};

// Returns the arrays of an open file of `size` bytes, one for each component.
// All arrays have the same number of rows. Of an array that is not live,
// nothing else has to be valid. Errors name the file.
using ArraysOfFile = std::function<absl::StatusOr<std::vector<FileArray>>(
    const RandomAccessFile& file, uint64_t size)>;

// Returns counted records of one size, whose places are computed. Arrays that
// are read as a whole are kept, the last used ones up to 256 MiB; a larger one
// is kept alone. `live`: see RecordSource::Make.
std::unique_ptr<const RecordSource> MakeArrayRecords(
    ArraysOfFile arrays_of, const std::vector<bool>& live,
    std::shared_ptr<const Manifest> manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ARRAY_RECORDS_H_

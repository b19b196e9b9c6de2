#ifndef FEEDMILL_CORE_SOURCES_ARRAY_FILE_H_
#define FEEDMILL_CORE_SOURCES_ARRAY_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/element_spec.h"
#include "core/dataset/graph.h"
#include "core/io/random_access_file.h"

namespace feedmill {

// Rows of one size, one after the other in a file.
struct FileArray {
  std::string name;
  DType dtype = DType::kInt64;  // kBytes: a row is one string of row_bytes
  Shape shape;                  // of a row
  uint64_t rows = 0;
  uint64_t row_bytes = 0;
  uint64_t offset = 0;  // of the first row
};

// The header of a .npy that `bytes` begins with: its array, without a name.
// DataLoss says what is wrong or cannot be read (Fortran order, big-endian
// numbers, objects and texts), without the file's name.
absl::StatusOr<FileArray> ParseNpyHeader(std::string_view bytes);

// The array of a .npy, the arrays of a .npz that is not compressed.
absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size);

// The arrays that a source reads of a file of `size` bytes, one for each
// component; all have the same number of rows. Errors name the file.
// REQUIRES: fixed_length or npy.
absl::StatusOr<std::vector<FileArray>> ArraysOf(const Source& source,
                                                const RandomAccessFile& file,
                                                uint64_t size);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ARRAY_FILE_H_

#ifndef FEEDMILL_CORE_FORMATS_NPY_FILE_H_
#define FEEDMILL_CORE_FORMATS_NPY_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/random_access_file.h"
#include "core/sources/array_records.h"

namespace feedmill {

// The header of a .npy that `bytes` begins with: its array, without a name.
// DataLoss says what is wrong or cannot be read (Fortran order, big-endian
// numbers, objects and texts), without the file's name.
absl::StatusOr<FileArray> ParseNpyHeader(std::string_view bytes);

// The array of a .npy, the arrays of a .npz that is not compressed. Of a .npz
// only those that `wanted` names are read; null: all.
absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted = nullptr);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_NPY_FILE_H_

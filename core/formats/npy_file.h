#ifndef FEEDMILL_CORE_FORMATS_NPY_FILE_H_
#define FEEDMILL_CORE_FORMATS_NPY_FILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/random_access_file.h"
#include "core/sources/array_records.h"

namespace feedmill {

// Returns the arrays of a .npy or .npz file. A .npy has one array without a
// name, or one for each member of a structured dtype. A .npz has the arrays of
// all its members, or only those that `wanted` names; null: all. An array in
// Fortran order or in a compressed member is read as a whole, when it is
// needed.
absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted = nullptr);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_NPY_FILE_H_

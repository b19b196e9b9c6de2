#ifndef FEEDMILL_CORE_FORMATS_NPY_FILE_H_
#define FEEDMILL_CORE_FORMATS_NPY_FILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/random_access_file.h"
#include "core/sources/array_records.h"

namespace feedmill {

// The arrays of a .npy or a .npz: one without a name, one for each member of a
// structured dtype, or those of all members of a .npz. Of a .npz only those
// that `wanted` names are read; null: all. Arrays in Fortran order and those of
// compressed members are read as a whole when they are needed.
absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted = nullptr);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_NPY_FILE_H_

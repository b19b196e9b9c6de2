#ifndef FEEDMILL_CORE_FORMATS_NPZ_FILE_H_
#define FEEDMILL_CORE_FORMATS_NPZ_FILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/random_access_file.h"
#include "core/sources/array_records.h"

namespace feedmill {

// Returns the arrays of the members of a .npz file, a zip file of .npy files.
// `wanted`: as in ReadArrayFile. A member that is no sound .npy is an
// unreadable array.
absl::StatusOr<std::vector<FileArray>> ReadNpzArrays(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_NPZ_FILE_H_

#ifndef FEEDMILL_CORE_FORMATS_NPY_FILE_H_
#define FEEDMILL_CORE_FORMATS_NPY_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/byte_stream.h"
#include "core/io/random_access_file.h"
#include "core/sources/array_records.h"

namespace feedmill {

// Returns the arrays of a .npy or .npz file. A .npy has one array without a
// name, or one for each member of a structured dtype. A .npz has the arrays of
// all its members, or only those that `wanted` names; null: all. Arrays that
// cannot be read are FileArray::unreadable. An array in Fortran order or in a
// compressed member is read as a whole, when it is needed.
absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted = nullptr);

// Position of the bytes of a .npy in a file, where they are stored plain or
// deflated.
struct NpyPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
  std::optional<DeflatedMember> deflated{};
};

// Returns the arrays of the .npy at `place`, one for each member of its dtype.
// `name`: of the .npz member.
absl::StatusOr<std::vector<FileArray>> ReadNpyArrays(
    const RandomAccessFile& file, const NpyPlace& place, std::string_view name);

// Reads `size` bytes at `offset`. Returns fewer at the end of the file, which
// has `file_size` bytes.
absl::StatusOr<std::string> ReadBytesAt(const RandomAccessFile& file,
                                        uint64_t file_size, uint64_t offset,
                                        uint64_t size);

// Returns the arrays of the members of a .npz file, a zip file of .npy files.
// `wanted`: as in ReadArrayFile. A member that is no sound .npy is an
// unreadable array.
absl::StatusOr<std::vector<FileArray>> ReadNpzArrays(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_NPY_FILE_H_

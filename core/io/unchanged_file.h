#ifndef FEEDMILL_CORE_IO_UNCHANGED_FILE_H_
#define FEEDMILL_CORE_IO_UNCHANGED_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/io/random_access_file.h"

namespace feedmill {

// Returns `file` with checked reads: all bytes are of the version that it has
// now. If the file was changed or has become shorter, a read is
// FailedPrecondition: "changed while it was read". Therefore a parser never
// sees bytes of two versions, and takes no changed file for a damaged one.
//
// For reads before a job has a manifest; ManifestFiles checks later ones.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> RequireUnchanged(
    std::unique_ptr<RandomAccessFile> file);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_UNCHANGED_FILE_H_

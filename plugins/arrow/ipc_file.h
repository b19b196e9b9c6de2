#ifndef FEEDMILL_PLUGINS_ARROW_IPC_FILE_H_
#define FEEDMILL_PLUGINS_ARROW_IPC_FILE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/io/random_access_file.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// Reads the footer of an Arrow IPC file (Feather), or the metadata of all
// messages of a stream.
absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenIpcFile(
    std::shared_ptr<const RandomAccessFile> file, uint64_t size);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_IPC_FILE_H_

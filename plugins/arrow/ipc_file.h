#ifndef FEEDMILL_PLUGINS_ARROW_IPC_FILE_H_
#define FEEDMILL_PLUGINS_ARROW_IPC_FILE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/io/random_access_file.h"
#include "core/sources/columnar_file.h"

namespace feedmill {

// Opens an Arrow IPC file (Feather) by its footer, or a stream by the metadata
// of all its messages. `memory_map`: values are views of the mapped file, if it
// can be mapped, in columns that ViewsAreSafe accepts.
absl::StatusOr<std::unique_ptr<const ColumnarFile>> OpenIpcFile(
    std::shared_ptr<const RandomAccessFile> file, uint64_t size,
    bool memory_map);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_IPC_FILE_H_

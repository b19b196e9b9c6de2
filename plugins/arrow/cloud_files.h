#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_FILES_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_FILES_H_

#include "core/io/cloud_files.h"

namespace feedmill {

// Opens Google Cloud Storage (gs://bucket/key) or Azure Blob Storage
// (az://container/key) with Arrow's clients. The environment gives addresses
// and credentials (cloud_clients.h).
absl::StatusOr<std::unique_ptr<const FileSystem>> OpenCloudFiles(
    const std::string& scheme, const CloudSettings& settings);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_FILES_H_

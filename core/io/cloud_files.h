#ifndef FEEDMILL_CORE_IO_CLOUD_FILES_H_
#define FEEDMILL_CORE_IO_CLOUD_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/file_system.h"

namespace feedmill {

// Settings that the program passes to the file systems of a plugin.
struct CloudSettings {
  // Failed requests are retried for this time. Then the read fails:
  // Unavailable.
  absl::Duration patience = absl::Seconds(60);
  // The program's ReadStop::Asked. A plugin has its own copy of that function,
  // which knows no stop of the program.
  bool (*stop_asked)() = nullptr;
};

// Makes the file system for the names of a scheme: "gs" or "az".
using MakeCloudFiles = absl::StatusOr<std::unique_ptr<const FileSystem>> (*)(
    const std::string& scheme, const CloudSettings& settings);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_CLOUD_FILES_H_

#ifndef FEEDMILL_CORE_IO_CLOUD_FILES_H_
#define FEEDMILL_CORE_IO_CLOUD_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/file_system.h"

namespace feedmill {

// What a plugin's file systems share with the program.
struct CloudSettings {
  // Requests are repeated for this time; then a read fails: Unavailable.
  absl::Duration patience = absl::Seconds(60);
  // ReadStop::Asked of the program: a plugin has a copy of its own.
  bool (*stop_asked)() = nullptr;
};

// Makes the file system for the names of a scheme: "gs" or "az".
using MakeCloudFiles = absl::StatusOr<std::unique_ptr<const FileSystem>> (*)(
    const std::string& scheme, const CloudSettings& settings);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_CLOUD_FILES_H_

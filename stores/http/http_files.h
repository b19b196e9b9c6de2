#ifndef FEEDMILL_STORES_HTTP_HTTP_FILES_H_
#define FEEDMILL_STORES_HTTP_HTTP_FILES_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/file_systems.h"
#include "stores/http/http_options.h"

namespace feedmill {

class HttpStore;

// Adds a file system for http:// and https:// URLs, which reads by ranges. A
// web server cannot list files, so each file is named; a pattern or a folder is
// an error. See docs/storage.md.
//
// Call once, before the first file is read. Other file systems may share the
// store; its bounds apply to all of them together.
absl::Status AddHttpFiles(std::shared_ptr<HttpStore> store,
                          FileSystems& file_systems);

// The defaults, overridden by the environment: FEEDMILL_HTTP_PATIENCE sets
// HttpOptions::patience, e.g. 90s. The seed of pauses differs between
// processes. InvalidArgument names the variable.
absl::StatusOr<HttpOptions> HttpOptionsOfEnvironment();

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_FILES_H_

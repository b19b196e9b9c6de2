#ifndef FEEDMILL_STORES_HTTP_HTTP_FILES_H_
#define FEEDMILL_STORES_HTTP_HTTP_FILES_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/file_systems.h"
#include "stores/http/http_options.h"

namespace feedmill {

class HttpStore;

// Lets this program read files behind http:// and https:// URLs, by ranges. A
// web server lists no files, so each is named; a pattern or a folder is an
// error. docs/storage.md describes it.
//
// Call it once, before the first file is read. The thread that drives requests
// starts with the first one, and ends with the process.
//
//   FM_RETURN_IF_ERROR(AddHttpFiles());
//   Loader loader(Dataset::Csv({"https://host/houses.csv"}));
absl::Status AddHttpFiles(const HttpOptions& options = {},
                          FileSystems& file_systems = ProcessFileSystems());

// The same, with a store that other file systems share: its bounds are those of
// all of them together.
absl::Status AddHttpFilesOf(std::shared_ptr<HttpStore> store,
                            FileSystems& file_systems = ProcessFileSystems());

// The defaults, and what the environment sets: FEEDMILL_HTTP_PATIENCE is
// HttpOptions::patience, such as 90s. Pauses between repeats differ from one
// process to the next. InvalidArgument names the variable.
absl::StatusOr<HttpOptions> HttpOptionsOfEnvironment();

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_FILES_H_

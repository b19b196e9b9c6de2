#ifndef FEEDMILL_STORES_S3_S3_FILES_H_
#define FEEDMILL_STORES_S3_S3_FILES_H_

#include <memory>

#include "absl/status/status.h"
#include "core/io/file_systems.h"
#include "stores/http/http_store.h"
#include "stores/s3/s3_keys.h"
#include "stores/s3/s3_url.h"

namespace feedmill {

// Adds a file system for objects behind s3://bucket/key URLs. Patterns and
// folders are listed. docs/storage.md describes options and keys.
//
// `store` drives the requests, as it does for other file systems. `look`
// returns environment variables. `load` returns AWS's credential chain; it is
// called when keys are needed and the environment has none.
//
// Call once, before the first file is read.
absl::Status AddS3Files(std::shared_ptr<HttpStore> store,
                        const EnvironmentLookup& look, S3Keys::Load load,
                        FileSystems& file_systems = ProcessFileSystems());

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_S3_FILES_H_

#ifndef FEEDMILL_STORES_S3_S3_FILES_H_
#define FEEDMILL_STORES_S3_S3_FILES_H_

#include <memory>

#include "absl/status/status.h"
#include "core/io/file_systems.h"
#include "stores/http/http_store.h"
#include "stores/s3/s3_keys.h"
#include "stores/s3/s3_url.h"

namespace feedmill {

// Lets this program read objects behind s3:// URLs: s3://bucket/key. Patterns
// and folders are listed. docs/storage.md describes options and keys.
//
// `store` drives the requests, beside those of other file systems. `look` tells
// environment variables. `load` finds AWS's credential chain where the
// environment has no keys: it is called once keys are needed.
//
// Call it once, before the first file is read.
absl::Status AddS3Files(std::shared_ptr<HttpStore> store,
                        const EnvironmentLookup& look, S3Keys::Load load,
                        FileSystems& file_systems = ProcessFileSystems());

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_S3_FILES_H_

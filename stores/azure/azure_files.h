#ifndef FEEDMILL_STORES_AZURE_AZURE_FILES_H_
#define FEEDMILL_STORES_AZURE_AZURE_FILES_H_

#include <memory>

#include "core/io/file_system.h"
#include "feedmill/resolver.h"
#include "stores/http/http_store.h"

namespace feedmill {

// Returns the file system for az:// names: `files` (Arrow's), but that feedmill
// itself stores and removes objects, each with one request; new ones with the
// condition If-None-Match, which Arrow's client cannot send. With Azure's
// default credentials Arrow does it, without the condition. docs/storage.md
// describes options and logins.
std::shared_ptr<const FileSystem> MakeAzureFiles(
    std::shared_ptr<HttpStore> store, Environment environment,
    std::shared_ptr<const FileSystem> files);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_AZURE_AZURE_FILES_H_

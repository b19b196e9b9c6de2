#ifndef FEEDMILL_STORES_GOOGLE_GOOGLE_FILES_H_
#define FEEDMILL_STORES_GOOGLE_GOOGLE_FILES_H_

#include <memory>

#include "core/io/file_system.h"
#include "core/io/google_token_source.h"
#include "feedmill/resolver.h"
#include "stores/http/http_store.h"

namespace feedmill {

// Returns the file system for gs:// names: `files` (Arrow's), but that feedmill
// itself stores objects, new ones with the condition ifGenerationMatch=0, which
// Arrow's client cannot send. With logins that `tokens` does not know,
// Arrow stores them, without the condition. docs/storage.md describes options
// and logins.
std::shared_ptr<const FileSystem> MakeGoogleFiles(
    std::shared_ptr<HttpStore> store, Environment environment,
    std::shared_ptr<GoogleTokenSource> tokens,
    std::shared_ptr<const FileSystem> files);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_GOOGLE_GOOGLE_FILES_H_

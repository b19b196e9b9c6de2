#ifndef FEEDMILL_STORES_STORES_H_
#define FEEDMILL_STORES_STORES_H_

#include <memory>

#include "absl/status/status.h"
#include "core/io/file_systems.h"
#include "core/io/google_token_source.h"

namespace feedmill {

// Adds file systems for http://, https://, s3://, gs:// and az:// names,
// configured by the environment (docs/storage.md). InvalidArgument names a
// malformed variable. Almost free until such a name is read; the plugin is
// loaded then. `google` gives tokens for storing objects in gs://; null:
// Arrow's client stores them.
//
// A program calls AddStores() of feedmill/dataset.h, once:
//
//   FM_RETURN_IF_ERROR(AddStoresTo(ProcessFileSystems()));
//   Loader loader(Dataset::Csv({"s3://bucket/houses.csv"}));
absl::Status AddStoresTo(FileSystems& file_systems,
                         std::shared_ptr<GoogleTokenSource> google = nullptr);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_STORES_H_

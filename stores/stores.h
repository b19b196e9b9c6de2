#ifndef FEEDMILL_STORES_STORES_H_
#define FEEDMILL_STORES_STORES_H_

#include "absl/status/status.h"
#include "core/io/file_systems.h"

namespace feedmill {

// Adds file systems for http://, https://, s3://, gs:// and az:// names,
// configured by the environment (docs/storage.md). InvalidArgument names a
// malformed variable. Almost free until such a name is read; the plugin is
// loaded then.
//
// A program calls AddStores() of feedmill/dataset.h, once:
//
//   FM_RETURN_IF_ERROR(AddStoresTo(ProcessFileSystems()));
//   Loader loader(Dataset::Csv({"s3://bucket/houses.csv"}));
absl::Status AddStoresTo(FileSystems& file_systems);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_STORES_H_

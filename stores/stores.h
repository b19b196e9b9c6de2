#ifndef FEEDMILL_STORES_STORES_H_
#define FEEDMILL_STORES_STORES_H_

#include "absl/status/status.h"
#include "core/io/file_systems.h"

namespace feedmill {

// Lets this program read http://, https://, s3://, gs:// and az:// names, as
// the environment says (docs/storage.md). InvalidArgument names a variable that
// is wrong. Costs next to nothing until such a name is read; the plugin is
// loaded then.
//
// Call it once, before the first file is read:
//
//   FM_RETURN_IF_ERROR(AddStores());
//   Loader loader(Dataset::Csv({"s3://bucket/houses.csv"}));
absl::Status AddStores(FileSystems& file_systems = ProcessFileSystems());

}  // namespace feedmill

#endif  // FEEDMILL_STORES_STORES_H_

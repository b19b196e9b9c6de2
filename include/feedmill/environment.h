#ifndef FEEDMILL_ENVIRONMENT_H_
#define FEEDMILL_ENVIRONMENT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feedmill/resolver_registry.h"

// Resolvers and stores of the command `feedmill`, for other programs.

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// All resolvers: those of BuiltinResolvers(); `gce:`, `kubernetes:` and `tpu:`,
// which ask a cloud over HTTP; and those of the shared objects that the
// variable FEEDMILL_RESOLVER_PLUGINS names. Errors name the plugin.
//
//   absl::StatusOr<ResolverRegistry> resolvers = AllResolvers();
//   auto resolver = resolvers->Make("kubernetes:", HostContext());
absl::StatusOr<ResolverRegistry> AllResolvers();

// Lets this program read http://, https://, s3://, gs:// and az:// names, with
// the keys and settings of the environment (docs/storage.md). Call it once,
// before the first file is read. InvalidArgument names a variable that is
// wrong.
//
//   if (absl::Status added = AddStores(); !added.ok()) return added;
//   Loader loader(Dataset::Csv({"https://host/houses.csv"}));
absl::Status AddStores();

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_ENVIRONMENT_H_

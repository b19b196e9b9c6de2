#ifndef FEEDMILL_DATASET_REGISTRY_H_
#define FEEDMILL_DATASET_REGISTRY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/dataset.h"
#include "feedmill/element_spec.h"
#include "feedmill/endpoint.h"

// Datasets that a dispatcher keeps under an id, so that readers need not have
// the definition:
//
//   const auto id = feedmill::RegisterDataset(photos, {.service = service});
//   …
//   const auto same = feedmill::DatasetFromId(*id, {.service = service});
//   if (!same.ok()) return same.status();
//   auto reader = feedmill::Read(*same, {.service = service});
//
// A dispatcher with a work_dir keeps them through restarts.

// Private to the library.
namespace feedmill {
class FunctionRegistry;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

struct RegistryConfig {
  // Address of the dispatcher, "tcp://host:port" or "host:port".
  std::string service{};
  // If set, a dispatcher of another cluster is refused.
  std::string cluster_id{};
  // The keys of a reader, for a service that has keys.
  SecurityConfig security{};
  // Directory of the dataset's relative file names. Default: the working
  // directory.
  std::string directory{};
  // Longest wait for an answer.
  absl::Duration timeout = absl::Seconds(20);
  // Functions that expressions may call, of LoadFunctions (functions.h). Null:
  // the built-in functions and those of the plugins in FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
};

// Registers a dataset and returns its id: the one given, or one that is derived
// from the definition, "dataset-" and 16 hexadecimal digits. The same dataset
// may be registered again. Files are named by their absolute paths; their
// fields are those of now.
//   InvalidArgument      the dataset or the address is wrong; an id has 1 to
//   256
//                        bytes
//   FailedPrecondition   the id is that of another dataset
//   ResourceExhausted    the dispatcher has as many datasets as it may
//   DeadlineExceeded     no dispatcher answered in time
absl::StatusOr<std::string> RegisterDataset(const Dataset& dataset,
                                            const RegistryConfig& config,
                                            const std::string& id = "");

// Returns the dataset of an id. With `expected`, its elements must have these
// components.
//   NotFound             there is no dataset of that id
//   InvalidArgument      its elements are others than `expected`; both are
//   named DeadlineExceeded     no dispatcher answered in time
absl::StatusOr<Dataset> DatasetFromId(const std::string& id,
                                      const RegistryConfig& config,
                                      const ElementSpec* expected = nullptr);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_DATASET_REGISTRY_H_

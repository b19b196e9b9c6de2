#ifndef FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_
#define FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/io/manifest.h"

namespace feedmill {

// `registry`, in which functions that look into files have those that `graph`
// names: what was in them when `manifest` was made. A process keeps a file
// once for all that use it. FailedPrecondition for one that has changed since,
// InvalidArgument for one that is no vocabulary or no model.
//
// Any thread.
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> BindFiles(
    const Graph& graph, const Manifest* manifest,
    std::shared_ptr<const FunctionRegistry> registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_

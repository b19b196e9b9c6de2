#ifndef FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_
#define FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/io/manifest.h"

namespace feedmill {

// Returns `registry` with the files that `graph` names bound to the functions
// that read them. The contents are those at the time of `manifest`. A process
// keeps one copy of a file for all users.
// FailedPrecondition if a file has changed since then, InvalidArgument if a
// file is not a vocabulary or a model.
//
// Any thread.
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> BindFiles(
    const Graph& graph, const Manifest* manifest,
    std::shared_ptr<const FunctionRegistry> registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_

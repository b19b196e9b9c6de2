#ifndef FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_
#define FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/io/manifest.h"

namespace feedmill {

// Returns `registry` with the files and tables that `graph` names bound to the
// functions that look into them. The contents are those at the time of
// `manifest`. A process keeps one copy of a file for all users.
// FailedPrecondition if a file has changed since then, InvalidArgument if a
// file is not a vocabulary, a model or a table (LookupTable::Read).
//
// Any thread.
absl::StatusOr<std::shared_ptr<const FunctionRegistry>> BindFiles(
    const AnalyzedGraph& graph, const Manifest* manifest,
    std::shared_ptr<const FunctionRegistry> registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BOUND_FILES_H_

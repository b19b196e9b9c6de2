#ifndef FEEDMILL_CORE_PIPELINE_CACHE_KEY_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_KEY_H_

#include <string>
#include <vector>

#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/io/manifest.h"
#include "core/plan/plan.h"

namespace feedmill {

// Names what stands before a cache: all that decides what its elements are
// (steps, files with their sizes and times, what is in those that expressions
// name, versions of plugins and of feedmill, and, if anything is drawn, the
// seed). Two of one key make the same.
//   `plan`      of AnalyzedGraph::cached
//   `contents`  of the files that expressions of the whole name
std::string CacheKey(const Plan& plan, const Manifest& manifest,
                     const std::vector<NamedContent>& contents,
                     const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_KEY_H_

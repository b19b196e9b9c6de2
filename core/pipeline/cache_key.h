#ifndef FEEDMILL_CORE_PIPELINE_CACHE_KEY_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_KEY_H_

#include <string>
#include <vector>

#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/io/manifest.h"
#include "core/plan/plan.h"

namespace feedmill {

// Returns a name for the result of the steps before a cache. It depends on
// everything that determines the elements: steps; files with sizes and times;
// contents of files named in expressions; versions of plugins and of feedmill;
// the seed, if random numbers are used. Caches with one key have the same
// elements.
//   `plan`      of AnalyzedGraph::cached
//   `contents`  of the files that expressions of the whole graph name
std::string CacheKey(const Plan& plan, const Manifest& manifest,
                     const std::vector<NamedContent>& contents,
                     const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_KEY_H_

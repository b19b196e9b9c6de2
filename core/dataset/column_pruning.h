#ifndef FEEDMILL_CORE_DATASET_COLUMN_PRUNING_H_
#define FEEDMILL_CORE_DATASET_COLUMN_PRUNING_H_

#include <memory>

#include "core/dataset/analysis.h"

namespace feedmill {

// Returns `graph`, analysed, without the components that no step needs: only
// the components that the source and each step really make
// (docs/semantics/needed_components.md). The result depends on the graph alone,
// so that all processes drop the same components. The last step's components
// all stay. REQUIRES: `graph` still has all written components.
std::shared_ptr<const AnalyzedGraph> PruneColumns(const AnalyzedGraph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_COLUMN_PRUNING_H_

#ifndef FEEDMILL_CORE_DATASET_LIVE_COMPONENTS_H_
#define FEEDMILL_CORE_DATASET_LIVE_COMPONENTS_H_

#include <memory>

#include "core/dataset/analysis.h"

namespace feedmill {

// `graph`, analysed, without the components that nothing needs: what the source
// and each step really make of those that are written
// (docs/semantics/needed_components.md). A function of the graph alone: all who
// run a part of it leave out the same, and its last components stay whole.
// REQUIRES: all that is written is made so far.
std::shared_ptr<const AnalyzedGraph> WithoutDeadComponents(
    const AnalyzedGraph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_LIVE_COMPONENTS_H_

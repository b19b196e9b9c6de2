#ifndef FEEDMILL_CORE_DATASET_PLACE_NAMES_H_
#define FEEDMILL_CORE_DATASET_PLACE_NAMES_H_

#include <string>
#include <vector>

#include "core/dataset/analysis.h"

namespace feedmill {

// Returns the names of the places at which a worker's time is measured, by
// StepCost::place: "other work", the source, "making chunks", "steps[0] map", …
// Steps of inputs come before the steps of the whole graph.
std::vector<std::string> PlaceNames(const AnalyzedGraph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_PLACE_NAMES_H_

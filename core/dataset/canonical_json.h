#ifndef FEEDMILL_CORE_DATASET_CANONICAL_JSON_H_
#define FEEDMILL_CORE_DATASET_CANONICAL_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/dataset/graph.h"

namespace feedmill {

// Parts of the canonical text (graph_text.h). Only its .cc files include this.

// The value of "source".
nlohmann::json SourceToJson(const Source& source);

// An input of a source: its source and steps.
nlohmann::json InputToJson(const Graph& graph);

// A name or a path: a string, {"hex": …} if it is not UTF-8.
nlohmann::json BytesToJson(const std::string& bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_CANONICAL_JSON_H_

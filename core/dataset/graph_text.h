#ifndef FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_
#define FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dataset/graph.h"

namespace feedmill {

// Puts `directory` before the graph's relative paths, as ParseGraphYaml does:
// for graphs made in C++, before they are sent or fingerprinted.
void MakePathsAbsolute(const std::string& directory, Graph& graph);

// The canonical text of a graph: JSON with sorted keys and every default
// written out. Graphs that mean the same by construction have equal texts; it
// is what travels and what is fingerprinted. Names and paths that are not UTF-8
// travel as {"hex": …}; the text is always valid UTF-8. "plugins" is there only
// where expressions call functions of plugins.
std::string CanonicalText(const Graph& graph);
// XXH3-128 of the canonical text without options.seed and options.order, as
// 32 hex digits.
std::string Fingerprint(const Graph& graph);

// Slots of a run in mode `off`, at most.
inline constexpr uint64_t kSlotsMax = 10'000;

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

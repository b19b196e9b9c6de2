#ifndef FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_
#define FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dataset/graph.h"

namespace feedmill {

// Puts `directory` before the graph's relative paths, as ParseGraphYaml does.
// For graphs made in C++, before they are sent or fingerprinted.
void MakePathsAbsolute(const std::string& directory, Graph& graph);

// Returns the canonical text of a graph: JSON with sorted keys and every
// default written out. Graphs with the same meaning by construction have equal
// texts. The text is sent to other processes and fingerprinted.
// Names and paths that are not UTF-8 are written as {"hex": …}, so the text is
// always valid UTF-8. "plugins" is present only if expressions call plugin
// functions, "part" only if the graph stands for an input.
std::string CanonicalText(const Graph& graph);
// Returns the canonical text without fields that are Field::kUnidentified:
// equal texts are of pipelines that give equal elements.
std::string IdentityText(const Graph& graph);
// Returns the XXH3-128 of the identity text without options.seed and
// options.order, as 32 hex digits.
std::string Fingerprint(const Graph& graph);

// Most passes of a run in mode `off`.
inline constexpr uint64_t kPassesMax = 10'000;

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

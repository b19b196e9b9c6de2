#ifndef FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_
#define FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Reads a pipeline's YAML (docs/steps.md lists its sources, steps, options).
// InvalidArgument: "line 4, column 5: steps[1]: …"; for unknown keys and steps
// it names the nearest known one. Relative paths become absolute, relative to
// `directory` (the YAML file's); "" leaves them.
// Bounded: texts over 1 MiB, over 1,000 steps, over 100,000 terms in
// expressions, or with YAML aliases that expand without limit are refused.
absl::StatusOr<Graph> ParseGraphYaml(std::string_view text,
                                     const std::string& directory);

// Puts `directory` before the graph's relative paths, as ParseGraphYaml does:
// for graphs made in C++, before they are sent or fingerprinted.
void MakePathsAbsolute(const std::string& directory, Graph& graph);

// The canonical text of a graph: JSON with sorted keys and every default
// written out. Graphs that mean the same by construction have equal texts; it
// is what travels and what is fingerprinted. Names and paths that are not UTF-8
// travel as {"hex": …}; the text is always valid UTF-8. "plugins" is there only
// where expressions call functions of plugins.
std::string CanonicalText(const Graph& graph);
// Takes it back: ParseGraphJson(CanonicalText(g)) has the text of g. Strict:
// every key must be there and known. Texts over 64 MiB are refused.
absl::StatusOr<Graph> ParseGraphJson(std::string_view text);

// XXH3-128 of the canonical text without options.seed and options.order, as
// 32 hex digits.
std::string Fingerprint(const Graph& graph);

// Slots of a run in mode `off`, at most.
inline constexpr uint64_t kSlotsMax = 10'000;
// What a run in mode `off` reads, however many slots it has: the graph with all
// of its elements kSlotsMax times, one whole pass after the other, each with
// its own epoch. A run of n slots ends after n passes.
Graph SlottedGraph(const Graph& graph);

// The YAML name of a step: "parse_example".
std::string_view StepName(const Step& step);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

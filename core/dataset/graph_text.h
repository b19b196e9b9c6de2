#ifndef FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_
#define FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Reads the YAML of design.md §10. Unknown keys and steps are errors that
// name the nearest known one, the line and the column. Relative paths become
// absolute, relative to `directory` (the YAML file's); "" leaves them.
// Bounded: texts over 1 MiB, over 1,000 steps, or with YAML aliases that
// expand without limit are refused.
absl::StatusOr<Graph> ParseGraphYaml(std::string_view text,
                                     const std::string& directory);

// The canonical text of a graph: JSON with sorted keys and every default
// written out. Graphs that mean the same by construction have equal texts; it
// is what travels and what is fingerprinted. ParseGraphJson takes it back.
std::string CanonicalText(const Graph& graph);
absl::StatusOr<Graph> ParseGraphJson(std::string_view text);

// XXH3-128 of the canonical text without options.seed and options.order, as
// 32 hex digits.
std::string Fingerprint(const Graph& graph);

// The YAML name of a step: "parse_example".
std::string_view StepName(const Step& step);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_TEXT_H_

#ifndef FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_
#define FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/dataset/graph_place.h"

namespace feedmill {

// A pipeline's file: what is read, and what it says of how. The latter is no
// part of the graph, its canonical text and its fingerprint.
struct Pipeline {
  Graph graph;
  // options.job: the job that a read through a service is of
  // (ReadOptions::job); "": one of the reader's own.
  std::string job{};
  // Lines of the graph's source and of each step in the text.
  GraphLines lines{};
};

// Reads a pipeline's YAML (docs/steps.md lists its sources, steps, options).
// InvalidArgument: "line 4, column 5: steps[1]: …"; for unknown keys and steps
// it names the nearest known one. Relative paths become absolute, relative to
// `directory` (the YAML file's); "" leaves them.
// Bounded: texts over 1 MiB, over 1,000 steps, over 100,000 terms in
// expressions, or with YAML aliases that expand without limit are refused.
absl::StatusOr<Graph> ParseGraphYaml(std::string_view text,
                                     const std::string& directory);

// Takes the canonical text (graph_text.h) back:
// ParseGraphJson(CanonicalText(g)) has the text of g. Strict: every key must be
// there and known. Texts over 64 MiB are refused.
absl::StatusOr<Graph> ParseGraphJson(std::string_view text);

// ParseGraphYaml with all that the text says.
absl::StatusOr<Pipeline> ParsePipelineYaml(std::string_view text,
                                           const std::string& directory);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_

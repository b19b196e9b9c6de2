#ifndef FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_
#define FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/dataset/graph_place.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// A pipeline file: the graph, and how to read it. The latter is not part of the
// graph, its canonical text or its fingerprint.
struct Pipeline {
  Graph graph;
  // options.job: the job of a read through a service (JobOptions::name); "":
  // the reader has a job of its own.
  std::string job{};
  // options.even: how the ranks of a reading are evened out
  // (RankOptions::even).
  Even even = Even::kExact;
  // Lines of the graph's source and of each step in the text.
  GraphLines lines{};
};

// Parses a pipeline's YAML (docs/steps.md lists its sources, steps, options).
// InvalidArgument: "line 4, column 5: steps[1]: …"; for an unknown key or step
// it names the nearest known one. Relative paths become absolute, relative to
// `directory` (the YAML file's); "" leaves them.
// Texts over 1 MiB, more than 1,000 steps, more than 100,000 terms in
// expressions, and YAML aliases that expand without limit are refused.
absl::StatusOr<Graph> ParseGraphYaml(std::string_view text,
                                     const std::string& directory);

// Parses a canonical text (graph_text.h): ParseGraphJson(CanonicalText(g)) has
// the text of g. Strict: every key must be present and known. Texts over 64 MiB
// are refused.
absl::StatusOr<Graph> ParseGraphJson(std::string_view text);

// Same as ParseGraphYaml, but returns the whole pipeline file.
absl::StatusOr<Pipeline> ParsePipelineYaml(std::string_view text,
                                           const std::string& directory);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_

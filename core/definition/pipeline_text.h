#ifndef FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_
#define FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/graph.h"
#include "core/dataset/graph_place.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

class Value;  // value.h

// Counts of a definition, each of which has a bound.
struct DefinitionCounts {
  size_t values = 0;  // scalars, lists and maps
  size_t scalar_bytes = 0;
  size_t terms = 0;   // of all expressions
  size_t steps = 0;   // with the steps of inputs
  size_t inputs = 0;  // of all sources
  size_t depth = 0;   // of inputs within inputs
};

// A pipeline file: the graph, and how to read it. The latter is not part of the
// graph, its canonical text or its fingerprint.
struct Pipeline {
  Graph graph;
  // options.job: the job of a read through a service (JobOptions::name); "":
  // the reader has a job of its own.
  std::string job{};
  // options.even: how the ranks of a reading are evened out
  // (RankOptions::even).
  std::optional<Even> even{};
  // Lines of the graph's source and of each step in the text.
  GraphLines lines{};
  // Counts of what was read. A canonical text counts steps, inputs and terms.
  DefinitionCounts size{};
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
// Same, but returns it as a pipeline.
absl::StatusOr<Pipeline> ParsePipelineJson(std::string_view text);

// Same as ParseGraphYaml, but returns the whole pipeline file.
absl::StatusOr<Pipeline> ParsePipelineYaml(std::string_view text,
                                           const std::string& directory);

// The same for what a program has as values: a pipeline of a source, one with a
// step more, and one with other options. Paths stay relative.
absl::StatusOr<Pipeline> MakePipeline(const std::string& source,
                                      const Value& options);
absl::StatusOr<Pipeline> WithStep(const Pipeline& pipeline,
                                  const std::string& name,
                                  const Value& options);
absl::StatusOr<Pipeline> WithOptions(const Pipeline& pipeline,
                                     const Value& options);

// Returns the pipeline as YAML, a line for the source and for each step,
// without options that have their defaults. ParsePipelineYaml makes the same
// graph of it. A graph that YAML cannot spell (names that are not UTF-8, pinned
// plugins) is written as its canonical text.
std::string YamlText(const Pipeline& pipeline);

// Returns the type of a field's values in YAML, for people: "integer".
std::string TypeOf(const Field& field);

// A source, a step or an option as it is shown to people: long texts and lists
// are cut, and URLs have no secrets.
struct PipelinePart {
  std::string place;  // "source", "steps[2]" or "options"
  std::string name;
  std::string value;  // YAML on one line; "": the name says all
};
std::vector<PipelinePart> ShownParts(const Pipeline& pipeline);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_PIPELINE_TEXT_H_

#ifndef FEEDMILL_CORE_DATASET_PIPELINE_TEXT_H_
#define FEEDMILL_CORE_DATASET_PIPELINE_TEXT_H_

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

// ParseGraphYaml (graph_text.h) with all that the text says.
absl::StatusOr<Pipeline> ParsePipelineYaml(std::string_view text,
                                           const std::string& directory);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_PIPELINE_TEXT_H_

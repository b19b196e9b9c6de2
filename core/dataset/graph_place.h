#ifndef FEEDMILL_CORE_DATASET_GRAPH_PLACE_H_
#define FEEDMILL_CORE_DATASET_GRAPH_PLACE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace feedmill {

// The part of a graph that an error of Analyze (analysis.h) is about. The error
// carries it as a payload, so that the reader of a file can add the line.
struct GraphPlace {
  // The input that holds the part: {2, 0} is inputs[0] of inputs[2]; empty for
  // the whole graph.
  std::vector<size_t> inputs{};
  std::optional<size_t> step{};  // absent: the source

  friend bool operator==(const GraphPlace&, const GraphPlace&) = default;
};

// Marks `status` as an error of step `step`, or of the source. The message
// stays the same. An OK status, or one that has a place already, is returned
// unchanged.
absl::Status AtStep(absl::Status status, size_t step);
absl::Status AtSource(absl::Status status);
// Converts `status` of an input to one of the whole graph: puts `where` before
// the message and `input` before the place.
absl::Status AtInput(const absl::Status& status, size_t input,
                     const std::string& where);

// Returns the place in `status`.
std::optional<GraphPlace> GraphPlaceOf(const absl::Status& status);

// The line numbers (from 1) of the parts of a graph in its file.
struct GraphLines {
  int source = 0;
  std::vector<int> steps{};
  std::vector<GraphLines> inputs{};

  // Returns the line of `place`; 0 if unknown.
  int Of(const GraphPlace& place) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_PLACE_H_

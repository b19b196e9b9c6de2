#ifndef FEEDMILL_CORE_DATASET_GRAPH_PLACE_H_
#define FEEDMILL_CORE_DATASET_GRAPH_PLACE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace feedmill {

// The part of a graph that an error of Analyze (analysis.h) is about. An error
// carries it as a payload, so that the reader of a file can add the line.
struct GraphPlace {
  // The input that holds the part: {2, 0} is inputs[0] of inputs[2]; empty for
  // the whole.
  std::vector<size_t> inputs{};
  std::optional<size_t> step{};  // absent: the source

  friend bool operator==(const GraphPlace&, const GraphPlace&) = default;
};

// `status` about step `step`, or about the source. The message stays. A status
// that is OK or has a place already is returned as it is.
absl::Status AtStep(absl::Status status, size_t step);
absl::Status AtSource(absl::Status status);
// `status` of an input, as one of the whole: `where` stands before the message,
// and `input` before the place.
absl::Status AtInput(const absl::Status& status, size_t input,
                     const std::string& where);

// The place that `status` carries.
std::optional<GraphPlace> GraphPlaceOf(const absl::Status& status);

// The lines of a file (from 1) that a graph was read from.
struct GraphLines {
  int source = 0;
  std::vector<int> steps{};
  std::vector<GraphLines> inputs{};

  // The line of `place`; 0 if unknown.
  int Of(const GraphPlace& place) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_PLACE_H_

#ifndef FEEDMILL_CORE_DATASET_COMBINING_SOURCES_H_
#define FEEDMILL_CORE_DATASET_COMBINING_SOURCES_H_

#include <cstdint>
#include <vector>

#include "feedmill/dataset_options.h"

namespace feedmill {

struct Graph;  // graph.h

// ---- sources that combine the elements of other pipelines, their inputs.
// Options of the inputs have no effect; the whole pipeline has its own.
struct ConcatenateSource {  // one input after another
  std::vector<Graph> inputs;
};
struct ZipSource {  // all components, as long as the shortest input
  std::vector<Graph> inputs;
};
// Takes block_length elements of each of cycle_length inputs in turn. When an
// input ends, the next input that was not begun replaces it.
struct InterleaveSource {
  std::vector<Graph> inputs;
  int64_t cycle_length = 0;  // 0: all inputs
  int64_t block_length = 1;
};
// After any n elements, each input has given n times its share, rounded up or
// down. The share is the input's weight over the sum of all weights. With a
// measure, the next element is of the input with the least sum of sizes for its
// weight. With changes, all of this begins again at each of them.
struct MixtureSource {
  using Stop = MixtureStop;
  std::vector<Graph> inputs;
  std::vector<double> weights{};  // one an input; again for each change
  Stop stop = Stop::kFirstExhausted;
  MixtureMeasure measure{};
  // Sums of elements, or of sizes, at which the next weights begin. They
  // increase.
  std::vector<int64_t> changes{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_COMBINING_SOURCES_H_

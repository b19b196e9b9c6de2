#ifndef FEEDMILL_CORE_DATASET_COMBINING_SOURCES_H_
#define FEEDMILL_CORE_DATASET_COMBINING_SOURCES_H_

#include <cstdint>
#include <vector>

#include "feedmill/sources.h"

namespace feedmill {

struct Graph;  // graph.h

// ---- sources made of inputs: pipelines of their own, whose elements they put
// together. The inputs' options mean nothing; those of the whole hold.
struct ConcatenateSource {  // one input after the other
  std::vector<Graph> inputs;
};
struct ZipSource {  // the components of all, as long as the shortest
  std::vector<Graph> inputs;
};
// block_length elements of each of cycle_length inputs in turn; where one ends,
// its turn passes, and the next that was not begun has it from then on.
struct InterleaveSource {
  std::vector<Graph> inputs;
  int64_t cycle_length = 0;  // 0: all
  int64_t block_length = 1;
};
// After any n elements, each input has given n times its share of them, rounded
// up or down. The share is the input's weight over the sum of all weights.
struct MixtureSource {
  using Stop = MixtureStop;
  std::vector<Graph> inputs;
  std::vector<double> weights{};
  Stop stop = Stop::kFirstExhausted;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_COMBINING_SOURCES_H_

#ifndef FEEDMILL_CORE_DATASET_GRAPH_H_
#define FEEDMILL_CORE_DATASET_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/dataset/combining_sources.h"
#include "core/dataset/source.h"
#include "core/dataset/step.h"
#include "feedmill/dataset_options.h"
#include "feedmill/expr.h"

namespace feedmill {

// A pipeline as its user wrote it: plain data, not yet checked. YAML, the C++
// builder and the protocol make the same Graph; Analyze (analysis.h) checks it.

struct Options {
  Order order = Order::kDeterministic;
  using ProcessingMode = feedmill::ProcessingMode;
  ProcessingMode processing_mode = ProcessingMode::kDynamic;
  std::optional<uint64_t> seed;  // absent: drawn, recorded and printed
};

struct Graph {
  Source source;
  std::vector<Step> steps;
  Options options;
  // For the whole graph, not for inputs: the plugin functions that expressions
  // call, each with its plugin's name and version. PinPlugins (plugin_pins.h)
  // sets it before the graph is sent or fingerprinted.
  std::map<std::string, std::string> plugins{};
  // For the whole graph: it stands for one of its inputs, as the whole needs
  // it. `part[0]` is the index of an input of its source, part[1] of an input
  // of that input's source, and so on. Only workers make such graphs, which
  // read inputs of streamed sources from each other.
  std::vector<size_t> part{};
  // For the whole graph: SequencedGraph made it.
  bool sequenced = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_H_

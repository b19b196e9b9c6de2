#ifndef FEEDMILL_CORE_DATASET_GRAPH_H_
#define FEEDMILL_CORE_DATASET_GRAPH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/dataset/expr.h"
#include "core/dataset/source.h"
#include "core/dataset/sources.h"
#include "core/dataset/step.h"
#include "core/dataset/steps.h"

namespace feedmill {

// A pipeline as its user wrote it: plain data, not yet checked. YAML, the C++
// builder and the wire make the same Graph; Analyze (analysis.h) checks it.

enum class Order {
  kDeterministic,  // the sequence that one thread makes
  kAny,            // each element once, as they come
};

struct Options {
  Order order = Order::kDeterministic;
  // How a run through a service uses its workers.
  enum class ProcessingMode {
    kDynamic,  // the dataset once; the dispatcher hands out splits as they ask
    kOff,      // the whole dataset once for each worker there is as it begins
  } processing_mode = ProcessingMode::kDynamic;
  std::optional<uint64_t> seed;  // absent: drawn, recorded and printed
};

struct Graph {
  Source source;
  std::vector<Step> steps;
  Options options;
  // Of the whole, not of an input: the functions of plugins that expressions
  // call, each with its plugin's name and version. PinPlugins
  // (plugin_pins.h) writes it before the graph is sent or fingerprinted.
  std::map<std::string, std::string> plugins{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_H_

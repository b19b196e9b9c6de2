#ifndef FEEDMILL_CORE_DATASET_STEP_TEXT_H_
#define FEEDMILL_CORE_DATASET_STEP_TEXT_H_

#include <yaml-cpp/node/node.h>

#include <string>

#include "absl/status/status.h"
#include "core/dataset/graph.h"
#include "core/dataset/yaml_values.h"

namespace feedmill {

// Parts of graph_text.h; only its .cc files include this.

// The value of a step that makes batches, in a pipeline's YAML; `known` is
// false for other names. `at` is where the step's name stands.
absl::Status ReadBatchYaml(YamlValues& values, const std::string& where,
                           const std::string& name, const YAML::Node& at,
                           const YAML::Node& value, Step& step, bool& known);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_TEXT_H_

#ifndef FEEDMILL_CORE_DATASET_STEP_TEXT_H_
#define FEEDMILL_CORE_DATASET_STEP_TEXT_H_

#include <yaml-cpp/node/node.h>

#include <cstdint>
#include <optional>
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

// The values of steps that have readers of their own.
absl::Status ReadShuffleYaml(YamlValues& values, const std::string& where,
                             const YAML::Node& value, ShuffleStep& step);
absl::Status ReadOnErrorYaml(YamlValues& values, const std::string& where,
                             const YAML::Node& value, OnErrorStep& step);
absl::Status ReadCacheYaml(YamlValues& values, const std::string& where,
                           const YAML::Node& value, CacheStep& step);
// Nothing, or a seed.
absl::Status ReadSeedYaml(YamlValues& values, const std::string& where,
                          const YAML::Node& node, std::optional<uint64_t>& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_TEXT_H_

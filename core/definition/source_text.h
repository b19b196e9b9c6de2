#ifndef FEEDMILL_CORE_DEFINITION_SOURCE_TEXT_H_
#define FEEDMILL_CORE_DEFINITION_SOURCE_TEXT_H_

#include <yaml-cpp/node/node.h>

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "absl/status/status.h"
#include "core/dataset/graph.h"
#include "core/definition/yaml_values.h"

namespace feedmill {

// The source's part of graph_text.h; only its .cc files include this.

// How deep inputs may stand in inputs, and how many there may be in all.
inline constexpr size_t kInputDepthMax = 8;
inline constexpr size_t kInputsInAllMax = 1000;

// Reads one input, a source and steps, with what reads the whole.
using ReadInputYaml = std::function<absl::Status(const YAML::Node&, Graph&)>;
using ReadInputJson =
    std::function<absl::Status(const nlohmann::json&, Graph&)>;

// The value of `source:` in a pipeline's YAML.
absl::Status ReadSourceYaml(YamlValues& values, const YAML::Node& node,
                            const ReadInputYaml& read_input, Source& source);

// The value of "source" in the canonical text.
absl::Status ReadSourceJson(const nlohmann::json& json,
                            const ReadInputJson& read_input, Source& source);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_SOURCE_TEXT_H_

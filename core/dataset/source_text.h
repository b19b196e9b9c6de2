#ifndef FEEDMILL_CORE_DATASET_SOURCE_TEXT_H_
#define FEEDMILL_CORE_DATASET_SOURCE_TEXT_H_

#include <yaml-cpp/node/node.h>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/status.h"
#include "core/dataset/graph.h"
#include "core/dataset/yaml_values.h"

namespace feedmill {

// The source's part of graph_text.h; only its .cc files include this.

// The value of `source:` in a pipeline's YAML.
absl::Status ReadSourceYaml(YamlValues& values, const YAML::Node& node,
                            Source& source);

// The value of "source" in the canonical text, and back.
nlohmann::json SourceToJson(const Source& source);
absl::Status ReadSourceJson(const nlohmann::json& json, Source& source);

// A name or a path in the canonical text: a string, {"hex": …} if not UTF-8.
nlohmann::json BytesToJson(const std::string& bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_TEXT_H_

#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_NODE_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_NODE_H_

#include <yaml-cpp/yaml.h>

#include <functional>
#include <string>
#include <string_view>

#include "feedmill/cluster.h"

namespace feedmill {

// Shared by the readers of clusters and of config files.

// Parses YAML (JSON included) and calls `read` with its root. InvalidArgument
// if the text is too large, uses aliases or is not YAML. Throws nothing.
absl::Status ReadYamlText(
    std::string_view text,
    const std::function<absl::Status(const YAML::Node&)>& read);
// InvalidArgument unless `text` is JSON.
absl::Status CheckJson(std::string_view text);

absl::StatusOr<ClusterSpec> ReadClusterNode(const YAML::Node& root);
// "line 3, column 1: ", or "" for a node that was not parsed from a text.
std::string NodePlace(const YAML::Node& node);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_NODE_H_

#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_NODE_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_NODE_H_

#include <yaml-cpp/yaml.h>

#include <functional>
#include <string>
#include <string_view>

#include "feedmill/cluster.h"

namespace feedmill {

// What the readers of clusters and of config files share.

// Parses YAML (and so JSON) and calls `read` with its root; InvalidArgument for
// a text that is too large, uses aliases or is no YAML. yaml-cpp's exceptions
// end here.
absl::Status ReadYamlText(
    std::string_view text,
    const std::function<absl::Status(const YAML::Node&)>& read);
// InvalidArgument unless `text` is JSON.
absl::Status CheckJson(std::string_view text);

absl::StatusOr<ClusterSpec> ReadClusterNode(const YAML::Node& root);
// "line 3, column 1: ", or "" for a node that is not in the text.
std::string NodePlace(const YAML::Node& node);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_NODE_H_

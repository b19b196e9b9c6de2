#include "core/cluster/cluster_document.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/cluster_node.h"
#include "core/cluster/words.h"
#include "core/dataset/nearest_name.h"

namespace feedmill {
namespace {

constexpr std::string_view kFields[] = {"cluster", "task", "rpc_layer",
                                        "environment", "session_master"};

absl::StatusOr<std::string> ReadScalar(const YAML::Node& node,
                                       std::string_view field) {
  if (node.IsScalar()) return node.Scalar();
  return InvalidArgument("{}field '{}' is a string", NodePlace(node), field);
}

// A null field is an absent one.
absl::Status ReadText(const YAML::Node& node, std::string_view field,
                      std::optional<std::string>* value) {
  if (node.IsNull()) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(*value, ReadScalar(node, field));
  return absl::OkStatus();
}

absl::Status ReadTask(const YAML::Node& node, ClusterView* view) {
  if (node.IsNull()) return absl::OkStatus();
  if (!node.IsMap()) {
    return InvalidArgument("{}field 'task' is a map of type and index",
                           NodePlace(node));
  }
  std::optional<std::string> index;
  for (const auto& item : node) {
    const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
    if (name == "type") {
      FM_RETURN_IF_ERROR(ReadText(item.second, "task.type", &view->task_type));
    } else if (name == "index") {
      FM_RETURN_IF_ERROR(ReadText(item.second, "task.index", &index));
      if (!index.has_value()) continue;
      view->task_id = ParseDecimal(*index);
      if (!view->task_id.has_value()) {
        return InvalidArgument(
            "{}field 'task.index' is an integer from 0 on, not '{}'",
            NodePlace(item.second), *index);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReadField(const std::string& name, const YAML::Node& node,
                       ClusterView* view) {
  std::optional<std::string> text;
  if (name == "cluster") {
    auto spec = ReadClusterNode(node);
    if (!spec.ok()) return Annotate(spec.status(), "field 'cluster'");
    view->spec = *std::move(spec);
  } else if (name == "task") {
    return ReadTask(node, view);
  } else if (name == "session_master") {
    return ReadText(node, name, &view->master);
  } else if (name == "rpc_layer") {
    FM_RETURN_IF_ERROR(ReadText(node, name, &text));
    view->rpc_layer = text.value_or("");
  } else if (name == "environment") {
    FM_RETURN_IF_ERROR(ReadText(node, name, &text));
    view->environment = text.value_or("");
  }
  return absl::OkStatus();
}

enum class UnknownFields { kRefused, kPassedOver };

absl::Status ReadFields(const YAML::Node& root, UnknownFields unknown,
                        ClusterView* view) {
  if (!root.IsMap()) {
    return InvalidArgument(
        "{}the text is no map with the fields cluster and task",
        NodePlace(root));
  }
  std::vector<std::string> seen;
  for (const auto& item : root) {
    const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
    if (std::ranges::find(kFields, name) == std::end(kFields)) {
      if (unknown == UnknownFields::kPassedOver) continue;
      return InvalidArgument(
          "{}unknown field '{}'{}", NodePlace(item.first), name,
          DidYouMean(name, {std::begin(kFields), std::end(kFields)}));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return InvalidArgument("{}field '{}' is written twice",
                             NodePlace(item.first), name);
    }
    seen.push_back(name);
    FM_RETURN_IF_ERROR(ReadField(name, item.second, view));
  }
  return absl::OkStatus();
}

// True if the root has a `cluster` field that holds jobs. False if `cluster` is
// itself the name of a job.
bool HasClusterField(const YAML::Node& root) {
  if (!root.IsMap()) return false;
  for (const auto& item : root) {
    if (!item.first.IsScalar() || item.first.Scalar() != "cluster") continue;
    if (item.second.IsNull()) return true;
    if (!item.second.IsMap()) return false;
    return item.second.size() == 0 || !item.second.begin()->second.IsScalar();
  }
  return false;
}

}  // namespace

absl::StatusOr<ClusterView> ReadTfConfig(std::string_view json) {
  FM_RETURN_IF_ERROR(CheckJson(json));
  ClusterView view;
  FM_RETURN_IF_ERROR(ReadYamlText(json, [&](const YAML::Node& root) {
    return ReadFields(root, UnknownFields::kPassedOver, &view);
  }));
  return view;
}

absl::StatusOr<ClusterView> ReadClusterDocument(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return InvalidArgument("the text is empty; {{}} is a cluster without jobs");
  }
  ClusterView view;
  FM_RETURN_IF_ERROR(ReadYamlText(text, [&](const YAML::Node& root) {
    if (HasClusterField(root)) {
      return ReadFields(root, UnknownFields::kRefused, &view);
    }
    auto spec = ReadClusterNode(root);
    if (spec.ok()) view.spec = *std::move(spec);
    return spec.status();
  }));
  return view;
}

}  // namespace feedmill

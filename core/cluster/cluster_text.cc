// JSON and YAML of ClusterSpec. JSON is checked with its own grammar and then
// read by the YAML reader, so both give the same messages.

#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "core/cluster/cluster_node.h"
#include "feedmill/cluster.h"

namespace feedmill {
namespace {

constexpr size_t kTextMax = size_t{16} << 20;

absl::StatusOr<int64_t> ReadIndex(const YAML::Node& key,
                                  const std::string& job) {
  int64_t index = 0;
  if (key.IsScalar() && YAML::convert<int64_t>::decode(key, index) &&
      key.Scalar().find_first_not_of("-0123456789") == std::string::npos) {
    return index;
  }
  return InvalidArgument(
      "{}job '{}': '{}' is not a task index; write an integer", NodePlace(key),
      job, key.IsScalar() ? key.Scalar() : "?");
}

absl::StatusOr<std::string> ReadAddress(const YAML::Node& node,
                                        const std::string& job) {
  if (!node.IsScalar()) {
    return InvalidArgument("{}job '{}': a task's address is host:port",
                           NodePlace(node), job);
  }
  return node.Scalar();
}

absl::StatusOr<JobTasks> ReadTasks(const YAML::Node& node,
                                   const std::string& job) {
  JobTasks tasks;
  if (node.IsSequence()) {
    int64_t index = 0;
    for (const YAML::Node& item : node) {
      FM_ASSIGN_OR_RETURN(tasks[index++], ReadAddress(item, job));
    }
  } else if (node.IsMap()) {
    for (const auto& item : node) {
      FM_ASSIGN_OR_RETURN(const int64_t index, ReadIndex(item.first, job));
      FM_ASSIGN_OR_RETURN(std::string address, ReadAddress(item.second, job));
      if (!tasks.emplace(index, std::move(address)).second) {
        return InvalidArgument("{}job '{}': task {} is written twice",
                               NodePlace(item.first), job, index);
      }
    }
  } else {
    return InvalidArgument(
        "{}job '{}' is neither a list of addresses nor a map from task index "
        "to address",
        NodePlace(node), job);
  }
  return tasks;
}

nlohmann::json ToJsonValue(const ClusterSpec& spec) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, tasks] : spec.AsDict()) {
    if (const auto* list = std::get_if<std::vector<std::string>>(&tasks)) {
      out[name] = *list;
      continue;
    }
    out[name] = nlohmann::json::object();
    for (const auto& [index, address] : std::get<JobTasks>(tasks)) {
      out[name][std::to_string(index)] = address;
    }
  }
  return out;
}

}  // namespace

std::string NodePlace(const YAML::Node& node) {
  if (node.Mark().is_null()) return "";
  return fmt::format("line {}, column {}: ", node.Mark().line + 1,
                     node.Mark().column + 1);
}

absl::StatusOr<ClusterSpec> ReadClusterNode(const YAML::Node& root) {
  ClusterDef def;
  if (root.IsNull()) return ClusterSpec();
  if (!root.IsMap()) {
    return InvalidArgument("{}a cluster is a map from job to its tasks",
                           NodePlace(root));
  }
  for (const auto& item : root) {
    if (!item.first.IsScalar()) {
      return InvalidArgument("{}a job's name is a string",
                             NodePlace(item.first));
    }
    ClusterDef::Job job{item.first.Scalar(), {}};
    FM_ASSIGN_OR_RETURN(job.tasks, ReadTasks(item.second, job.name));
    def.jobs.push_back(std::move(job));
  }
  return ClusterSpec::FromDef(def);
}

absl::Status ReadYamlText(
    std::string_view text,
    const std::function<absl::Status(const YAML::Node&)>& read) {
  if (text.size() > kTextMax) {
    return InvalidArgument(
        "a cluster's text of {} bytes is over the limit of {}", text.size(),
        kTextMax);
  }
  // Aliases could expand a small text without limit.
  if (text.find('*') != std::string_view::npos) {
    return InvalidArgument("a cluster's YAML may not use aliases ('*')");
  }
  try {
    return read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return InvalidArgument("not YAML: {}", error.what());
  }
}

absl::Status CheckJson(std::string_view text) {
  try {
    (void)nlohmann::json::parse(text).size();
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("not JSON: {}", error.what());
  }
  return absl::OkStatus();
}

absl::StatusOr<ClusterSpec> ClusterSpec::FromYaml(std::string_view text) {
  ClusterSpec spec;
  FM_RETURN_IF_ERROR(ReadYamlText(text, [&](const YAML::Node& root) {
    auto read = ReadClusterNode(root);
    if (read.ok()) spec = *std::move(read);
    return read.status();
  }));
  return spec;
}

absl::StatusOr<ClusterSpec> ClusterSpec::FromJson(std::string_view text) {
  FM_RETURN_IF_ERROR(CheckJson(text));
  return FromYaml(text);
}

std::string ClusterSpec::ToJson() const { return ToJsonValue(*this).dump(); }

std::string ClusterSpec::ToYaml() const {
  const nlohmann::json json = ToJsonValue(*this);
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const ClusterDef::Job& job : AsClusterDef().jobs) {
    out << YAML::Key << job.name << YAML::Value;
    if (json.at(job.name).is_array()) {
      out << YAML::BeginSeq;
      for (const auto& [index, address] : job.tasks) out << address;
      out << YAML::EndSeq;
    } else {
      out << YAML::BeginMap;
      for (const auto& [index, address] : job.tasks) {
        out << YAML::Key << index << YAML::Value << address;
      }
      out << YAML::EndMap;
    }
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace feedmill

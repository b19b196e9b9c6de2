#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "core/cluster/resolver_registry.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

constexpr char kSummary[] =
    "Prints which tasks a cluster has, and which of them this process is.";
constexpr char kExamples[] =
    "URI is one of\n"
    "  env:          FEEDMILL_CLUSTER, FEEDMILL_JOB, FEEDMILL_TASK\n"
    "  file:PATH     YAML or JSON, such as this command prints\n"
    "  tf_config:    TF_CONFIG\n"
    "  slurm:        the Slurm step that it runs in; port, jobs\n"
    "  sagemaker:    SM_HOSTS, SM_CURRENT_HOST; port, jobs\n"
    "  kubernetes:   the pods with certain labels: JOB=LABELS; "
    "address=pod|host|\n"
    "                service, namespace, port, not_ready=1, kubeconfig, "
    "context\n"
    "  gce:GROUP     a group of instances; project, zone or region, port, "
    "jobs\n"
    "  tpu:NAME      a Cloud TPU's hosts (of TPU_NAME, or this one's, without\n"
    "                NAME); project, zone, port\n"
    "and takes ?job=J&task=I to say which task this process is.\n"
    "\n"
    "Examples:\n"
    "  feedmill resolve file:cluster.yaml\n"
    "  feedmill resolve 'file:cluster.yaml?job=worker&task=3' --format table\n"
    "  srun feedmill resolve 'slurm:?port=8888&jobs=dispatcher:1,worker:3'\n"
    "  feedmill resolve 'kubernetes:?dispatcher=app%3Dmill,tier%3Dbroker&"
    "worker=app%3Dmill'\n"
    "  feedmill resolve 'gce:workers?zone=us-east1-d&port=5050'\n"
    "  feedmill resolve env: --format json | jq -r '.cluster.worker[]'";

// A task's type may be any bytes; what is no UTF-8 prints as U+FFFD.
template <class Json>
std::string JsonDump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string YamlText(const ClusterView& view) {
  std::string text = "cluster:";
  if (view.spec.empty()) {
    text += " {}\n";
  } else {
    // Block style below its key: each line two further in.
    std::string inner = view.spec.ToYaml();
    inner.pop_back();
    text += "\n  ";
    for (const char c : inner) {
      text += c;
      if (c == '\n') text += "  ";
    }
    text += '\n';
  }
  if (!view.task_type.has_value() && !view.task_id.has_value()) {
    return text + "task: null\n";
  }
  // JSON is YAML, with strings quoted that would be numbers.
  const auto type = view.task_type.has_value()
                        ? JsonDump(nlohmann::json(*view.task_type))
                        : "null";
  const auto index =
      view.task_id.has_value() ? std::to_string(*view.task_id) : "null";
  return text + fmt::format("task:\n  type: {}\n  index: {}\n", type, index);
}

std::string JsonText(const ClusterView& view) {
  nlohmann::ordered_json out;
  out["cluster"] = nlohmann::ordered_json::parse(view.spec.ToJson());
  out["task"] = nullptr;
  if (view.task_type.has_value() || view.task_id.has_value()) {
    auto& task = out["task"] = nlohmann::ordered_json::object();
    task["type"] = nullptr;
    task["index"] = nullptr;
    if (view.task_type.has_value()) task["type"] = *view.task_type;
    if (view.task_id.has_value()) task["index"] = *view.task_id;
  }
  return JsonDump(out) + "\n";
}

// One line a task, with a star at this process's own.
std::string TableText(const ClusterView& view) {
  size_t width = 3;
  for (const std::string& job : view.spec.Jobs()) {
    width = std::max(width, job.size());
  }
  std::string text =
      fmt::format("  {:<{}}  {:>5}  ADDRESS\n", "JOB", width, "INDEX");
  for (const ClusterDef::Job& job : view.spec.AsClusterDef().jobs) {
    for (const auto& [index, address] : job.tasks) {
      const bool own = view.task_type == job.name && view.task_id == index;
      text += fmt::format("{} {:<{}}  {:>5}  {}\n", own ? '*' : ' ', job.name,
                          width, index, address);
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<int> RunResolve(const Invocation& invocation) {
  std::string uri;
  std::string format = "yaml";
  FlagSet flags("resolve", kSummary, kExamples);
  flags.Positional("URI", "Where the cluster is described (required)", &uri);
  flags.OneOf("--format", {"yaml", "json", "table"}, "How to print it",
              &format);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (uri.empty()) return flags.Error("the cluster's URI is missing");

  FM_ASSIGN_OR_RETURN(const auto resolver,
                      invocation.resolvers->Make(uri, HostContext()));
  FM_ASSIGN_OR_RETURN(const ClusterView view, resolver->Resolve());
  const std::string text = format == "json"   ? JsonText(view)
                           : format == "yaml" ? YamlText(view)
                                              : TableText(view);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace feedmill

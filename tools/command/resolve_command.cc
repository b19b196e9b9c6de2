#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/cluster_watch.h"
#include "core/cluster/host_context.h"
#include "feedmill/resolver.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

constexpr char kResolveSummary[] =
    "Prints which tasks a cluster has, and which of them this process is.";
constexpr char kResolveExamples[] =
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
    "  union:?1=URI&2=URI  several as one, each URI percent-encoded\n"
    "and takes ?job=J&task=I to say which task this process is.\n"
    "\n"
    "Examples:\n"
    "  feedmill resolve file:cluster.yaml\n"
    "  feedmill resolve 'file:cluster.yaml?job=worker&task=3' --format table\n"
    "  srun feedmill resolve 'slurm:?port=8888&jobs=dispatcher:1,worker:3'\n"
    "  feedmill resolve 'kubernetes:?dispatcher=app%3Dmill,tier%3Dbroker&"
    "worker=app%3Dmill'\n"
    "  feedmill resolve 'gce:workers?zone=us-east1-d&port=5050'\n"
    "  feedmill resolve 'union:?1=env%3A&2=file%3Amore.yaml' --watch 10s\n"
    "  feedmill resolve env: --format json | jq -r '.cluster.worker[]'\n"
    "\n"
    "FEEDMILL_RESOLVER_PLUGINS names shared objects that add kinds of cluster.";

// A task's type may be any bytes; invalid UTF-8 prints as U+FFFD.
template <class Json>
std::string JsonDump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string YamlText(const ClusterView& view) {
  std::string text = "cluster:";
  if (view.spec.empty()) {
    text += " {}\n";
  } else {
    // Block style: each line is indented by two.
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
  // JSON is valid YAML; strings that look like numbers are quoted.
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

// Formats one line per task, with a star at this process's own.
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

std::string Text(const ClusterView& view, const std::string& format) {
  if (format == "json") return JsonText(view);
  return format == "yaml" ? YamlText(view) : TableText(view);
}

}  // namespace

absl::StatusOr<int> RunResolve(const Invocation& invocation) {
  std::string uri;
  std::string format = "yaml";
  absl::Duration interval;
  FlagSet flags("resolve", kResolveSummary, kResolveExamples);
  flags.Positional("URI", "URI of the cluster (required)", &uri);
  flags.OneOf("--format", {"yaml", "json", "table"}, "Format of the cluster",
              &format);
  flags.Duration("--watch",
                 "Resolve again at this interval and print each change, until "
                 "SIGINT or SIGTERM",
                 &interval);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (uri.empty()) return flags.Error("the cluster's URI is missing");

  FM_ASSIGN_OR_RETURN(std::shared_ptr<const ClusterResolver> resolver,
                      invocation.resolvers->Make(uri, HostContext()));
  FM_ASSIGN_OR_RETURN(const ClusterView view, resolver->Resolve());
  std::fputs(Text(view, format).c_str(), stdout);
  if (interval <= absl::ZeroDuration()) return 0;

  StopSignals signals;
  ClusterWatchOptions options{.interval = interval, .known = view.spec};
  options.on_change = [&](const ClusterView& next,
                          const std::vector<ClusterChange>&) {
    const char* between = format == "yaml" ? "---\n" : "";
    std::fputs((between + Text(next, format)).c_str(), stdout);
    std::fflush(stdout);
  };
  options.on_trouble = [](const absl::Status& status) {
    std::fprintf(stderr, "feedmill resolve: %s\n", ErrorText(status).c_str());
  };
  std::fflush(stdout);
  const ClusterWatch watch(std::move(resolver), std::move(options));
  signals.Wait(-1, absl::InfiniteDuration());
  return 0;
}

}  // namespace feedmill

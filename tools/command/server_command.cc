#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/cluster_watch.h"
#include "core/cluster/host_context.h"
#include "core/net/log.h"
#include "server/address_file.h"
#include "server/server.h"
#include "tools/command/commands.h"
#include "tools/command/security_flags.h"
#include "tools/command/server_flags.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

constexpr char kSummary[] =
    "Runs one task of a cluster: the same line on each machine starts the\n"
    "whole. A task of job \"dispatcher\" plans jobs, one of job \"worker\" "
    "works for\n"
    "that dispatcher, one of job \"local\" is both; one of any other job, such "
    "as\n"
    "\"ps\", says who it is and waits. SIGTERM or SIGINT: a worker finishes "
    "what it\n"
    "has (--drain-timeout at most), then it exits 0.";
constexpr char kExamples[] =
    "Examples:\n"
    "  feedmill server --cluster file:cluster.yaml --job worker --task 1 \\\n"
    "      --keys /etc/feedmill/keys\n"
    "  srun feedmill server --cluster 'slurm:?jobs=dispatcher:1,worker' \\\n"
    "      --insecure-bind\n"
    "  feedmill server --cluster env: --publish /shared/addresses\n"
    "  'feedmill resolve --help' has the kinds of cluster.";

struct ServerCommand {
  ServerFlags server;
  std::string cluster;
  std::string job;
  uint64_t task = UINT64_MAX;  // none that can be given
  absl::Duration watch = absl::Seconds(30);
  WorkerOptions worker;
  ServerConfig config;

  ServerCommand() { server.host.clear(); }

  void Declare(FlagSet& flags) {
    flags.Text("--cluster", "URI", "Where the cluster is described (required)",
               &cluster);
    flags.Text("--job", "NAME",
               "This task's job; default: as the cluster's source says, or "
               "the only one",
               &job);
    flags.Count("--task", 0, INT64_MAX,
                "Its index; default: as the cluster's source says, or the only "
                "one",
                &task);
    flags.Text("--publish", "DIR",
               "Folder that all tasks see, where each writes its address; "
               "needed where the dispatcher's port is 0",
               &config.publish);
    flags.Duration("--watch",
                   "How often to look whether the cluster has changed", &watch);
    DeclareDispatcherFlags(flags, config.dispatcher);
    worker.Declare(flags);
    server.DeclareWithoutPort(flags, "this task's peers");
    DeclareServerKey(flags, &server.security);
    flags.Configurable();
  }
};

// Lets the server follow its cluster.
std::unique_ptr<ClusterWatch> Watch(
    std::shared_ptr<const ClusterResolver> resolver, absl::Duration interval,
    const ClusterSpec& known, Server& server) {
  ClusterWatchOptions options{.interval = interval, .known = known};
  options.on_change = [&server](const ClusterView& view,
                                const std::vector<ClusterChange>& changes) {
    for (const ClusterChange& change : changes) {
      LogInfo("the cluster changed: {}", ToString(change));
    }
    server.Follow(view.spec);
  };
  options.on_trouble = [](const absl::Status& status) {
    LogWarning("cannot look whether the cluster changed: {}",
               ErrorText(status));
  };
  return std::make_unique<ClusterWatch>(std::move(resolver),
                                        std::move(options));
}

// `watch` begins once signals are blocked: its thread must not get them.
absl::Status Serve(Server& server,
                   const std::function<std::unique_ptr<ClusterWatch>()>& watch,
                   const std::string& ready_file,
                   absl::Duration drain_timeout) {
  StopSignals signals;
  AddressFile ready(ready_file);
  FM_RETURN_IF_ERROR(ready.Prepare());
  FM_RETURN_IF_ERROR(server.Start());
  const std::unique_ptr<ClusterWatch> watching = watch();
  absl::Status announced;
  std::thread announcer([&] {
    if (!server.WaitReady(absl::InfiniteDuration()).ok()) return;
    announced = ready.Write(server.target());
    if (!announced.ok()) server.Stop();
  });
  const absl::Status status = ServeUntilStopped(
      signals, [&] { return server.Join(); },
      [&](int) {
        LogInfo("stopping; a second signal stops at once");
        server.Drain(drain_timeout);
      });
  announcer.join();
  FM_RETURN_IF_ERROR(announced);
  return status;
}

}  // namespace

absl::StatusOr<int> RunServer(const Invocation& invocation) {
  ServerCommand command;
  FlagSet flags("server", kSummary, kExamples);
  command.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (command.cluster.empty()) return flags.Error("--cluster URI is missing");
  FM_RETURN_IF_ERROR(command.server.SetUpLogging("server"));

  FM_ASSIGN_OR_RETURN(
      std::shared_ptr<const ClusterResolver> resolver,
      invocation.resolvers->Make(command.cluster, HostContext()));
  FM_ASSIGN_OR_RETURN(const ClusterView view, resolver->Resolve());
  const ServerDef def{.cluster = view.spec.AsClusterDef(),
                      .job_name = view.task_type.value_or(""),
                      .task_index = view.task_id};
  ServerOptions options{.config = std::move(command.config), .start = false};
  if (flags.Given("--job")) options.task.job_name = command.job;
  if (flags.Given("--task")) {
    options.task.task_index = static_cast<int64_t>(command.task);
  }
  options.config.host = command.server.host;
  options.config.cluster_id = command.server.cluster_id;
  options.config.security = command.server.security;
  options.config.insecure_bind = command.server.insecure_bind;
  options.config.registry = invocation.registry;
  options.config.worker = command.worker.Config();
  FM_ASSIGN_OR_RETURN(const auto server,
                      Server::Create(def, std::move(options)));
  const auto watch = [&] {
    return Watch(resolver, command.watch, view.spec, *server);
  };
  FM_RETURN_IF_ERROR(Serve(*server, watch, command.server.ready_file,
                           command.worker.drain_timeout));
  return 0;
}

}  // namespace feedmill

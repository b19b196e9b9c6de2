#include <memory>
#include <optional>
#include <utility>

#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "feedmill/server.h"
#include "server/server_def.h"
#include "tools/command/commands.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/scale_actor.h"
#include "tools/command/security_flags.h"
#include "tools/command/server_flags.h"
#include "tools/command/task_process.h"

namespace feedmill {
namespace {

constexpr char kServerSummary[] =
    "Runs one task of a cluster: the same command line on each machine starts "
    "the\n"
    "whole cluster. A task of job \"dispatcher\" plans jobs, one of job "
    "\"worker\" works for\n"
    "that dispatcher, one of job \"local\" is both; one of any other job, such "
    "as\n"
    "\"ps\", only answers status requests. SIGTERM or SIGINT: a worker "
    "hands its\n"
    "splits to other workers, or finishes them (within --drain-timeout), then "
    "exits 0.";
constexpr char kServerExamples[] =
    "Examples:\n"
    "  feedmill server --cluster file:cluster.yaml --job worker --task 1 \\\n"
    "      --keys /etc/feedmill/keys\n"
    "  srun feedmill server --cluster 'slurm:?jobs=dispatcher:1,worker' \\\n"
    "      --insecure-bind\n"
    "  feedmill server --cluster env: --publish /shared/addresses\n"
    "  feedmill server --cluster tf_config: --jobs dispatcher=ps,worker=data\n"
    "  'feedmill resolve --help' has the kinds of cluster.";

struct ServerCommand {
  ServerFlags server;
  ClusterFlags cluster;
  std::string job;
  uint64_t task = UINT64_MAX;  // not given
  absl::Duration watch = absl::Seconds(30);
  WorkerOptions worker;
  ServerConfig config;
  OpPluginFlag op_plugins;
  ScaleFlags scale;

  ServerCommand() { server.host.clear(); }

  void Declare(FlagSet& flags) {
    cluster.Declare(
        flags, "URI of the cluster, see 'feedmill resolve --help' (required)");
    flags.Text("--job", "NAME",
               "This task's job; default: as the cluster says, or its only job",
               &job);
    flags.Count(
        "--task", 0, INT64_MAX,
        "This task's index; default: as the cluster says, or its only index",
        &task);
    flags.Text("--advertise", "HOST[:PORT]",
               "Address at which other processes reach this task; default: the "
               "host that the cluster gives it",
               &config.endpoint.advertise);
    flags.Text("--publish", "DIR",
               "Folder shared by all tasks, where each writes its address; "
               "needed if the dispatcher's port is 0",
               &config.publish);
    flags.Duration("--watch", "Interval at which the cluster is resolved again",
                   &watch);
    DeclareDispatcherFlags(flags, config.dispatcher);
    scale.Declare(flags, config.dispatcher.settings.scale);
    worker.Declare(flags);
    server.DeclareWithoutPort(flags, "this task's peers");
    DeclareServerKey(flags, &server.security);
    op_plugins.Declare(flags);
    flags.Configurable();
  }
};

// True for a worker of a cluster that has no dispatcher yet.
bool NeedsDispatcher(const ServerDef& def, const ServerOptions& options) {
  const auto full = CompleteServerDef(def, options.task);
  return full.ok() && RoleOf(full->job_name) == TaskRole::kWorker &&
         options.config.worker.dispatcher.empty() &&
         absl::IsNotFound(FindDispatcherTask(full->cluster).status());
}

}  // namespace

absl::StatusOr<int> RunServer(const Invocation& invocation) {
  ServerCommand command;
  FlagSet flags("server", kServerSummary, kServerExamples);
  command.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (!command.cluster.given()) return flags.Error("--cluster URI is missing");
  FM_RETURN_IF_ERROR(command.server.log.SetUp("server"));

  FM_ASSIGN_OR_RETURN(
      std::shared_ptr<const ClusterResolver> resolver,
      invocation.resolvers->Make(command.cluster.Uri(), HostContext()));
  FM_ASSIGN_OR_RETURN(ClusterView view, resolver->Resolve());
  FM_RETURN_IF_ERROR(CheckHasJobs(view, command.cluster.uri));
  ServerDef def{.cluster = view.spec.AsClusterDef(),
                .job_name = view.task_type.value_or(""),
                .task_index = view.task_id};
  ServerOptions options{.config = std::move(command.config), .start = false};
  if (flags.Given("--job")) {
    FM_ASSIGN_OR_RETURN(options.task.job_name,
                        command.cluster.RenamedJob(command.job));
  }
  if (flags.Given("--task")) {
    options.task.task_index = static_cast<int64_t>(command.task);
  }
  command.server.Set(options.config.endpoint);
  FM_ASSIGN_OR_RETURN(options.config.registry,
                      command.op_plugins.AddTo(invocation.registry));
  options.config.worker = command.worker.Config();
  if (NeedsDispatcher(def, options)) {
    FM_ASSIGN_OR_RETURN(
        std::optional<ClusterView> later,
        AwaitDispatcher(*resolver, command.cluster.uri, command.watch,
                        options.config.worker.dispatcher_timeout));
    if (!later.has_value()) return 0;
    view = *std::move(later);
    def.cluster = view.spec.AsClusterDef();
  }
  command.scale.Set(options.config.dispatcher.settings.scale);
  ScaleActor actor(command.scale);
  options.config.dispatcher.on_workers_wanted = [&](uint64_t workers) {
    actor.Want(workers);
  };
  FM_ASSIGN_OR_RETURN(const auto server,
                      Server::Create(def, std::move(options)));
  FM_RETURN_IF_ERROR(
      RunTask(*server, {.resolver = resolver,
                        .known = view.spec,
                        .watch = command.watch,
                        .ready_file = command.server.ready_file,
                        .http = command.server.http,
                        .scale = &actor,
                        .op_plugins = command.op_plugins.paths,
                        .drain_timeout = command.worker.drain_timeout}));
  return 0;
}

}  // namespace feedmill

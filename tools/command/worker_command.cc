#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "core/net/log.h"
#include "feedmill/server.h"
#include "feedmill/worker.h"
#include "server/address_file.h"
#include "server/server_def.h"
#include "tools/command/commands.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/security_flags.h"
#include "tools/command/server_flags.h"
#include "tools/command/stop_signals.h"
#include "tools/command/task_process.h"

namespace feedmill {
namespace {

constexpr char kWorkerSummary[] =
    "Reads, decodes and batches the splits that a dispatcher assigns, and "
    "sends\n"
    "them to readers. SIGTERM or SIGINT: hands its splits to other workers, "
    "or\n"
    "finishes them (within --drain-timeout), then exits 0; a second signal "
    "stops it\n"
    "at once.";
constexpr char kWorkerExamples[] =
    "Examples:\n"
    "  feedmill worker --dispatcher tcp://10.0.0.1:5050 --host 0.0.0.0 \\\n"
    "      --keys /etc/feedmill/keys\n"
    "  feedmill worker --dispatcher localhost:5050 --threads 4 --memory 1GiB\n"
    "  feedmill worker --dispatcher broker:5050 --host 0.0.0.0 --port 6000 \\\n"
    "      --advertise node7.example.org:6000 --insecure-bind\n"
    "  feedmill worker --cluster 'kubernetes:?dispatcher=app%3Dmill&port=5050' "
    "\\\n"
    "      --host 0.0.0.0 --keys /etc/feedmill/keys";

struct WorkerCommand {
  ServerFlags server;
  WorkerOptions options;
  ClusterFlags cluster;
  absl::Duration watch = absl::Seconds(30);
  OpPluginFlag op_plugins;
  // including the flag's
  std::shared_ptr<const FunctionRegistry> functions;

  void Declare(FlagSet& flags) {
    options.Declare(flags);
    cluster.Declare(flags,
                    "In place of --dispatcher: URI of a cluster that lists the "
                    "dispatcher now or later; it need not list this worker");
    flags.Duration("--watch",
                   "Interval at which the cluster is resolved again, to follow "
                   "a dispatcher that moves",
                   &watch);
    flags.Text("--advertise", "HOST[:PORT]",
               "Address at which readers reach this worker; default: --host "
               "or, if that is all addresses, the address of its connection "
               "to the dispatcher",
               &options.config.endpoint.advertise);
    server.Declare(flags, "readers");
    DeclareServerKey(flags, &server.security);
    op_plugins.Declare(flags);
    flags.Configurable();
  }
};

// Works for the dispatcher of a cluster and follows its address.
absl::Status WorkForCluster(const Invocation& invocation,
                            const WorkerCommand& command) {
  FM_ASSIGN_OR_RETURN(
      std::shared_ptr<const ClusterResolver> resolver,
      invocation.resolvers->Make(command.cluster.Uri(), HostContext()));
  FM_ASSIGN_OR_RETURN(
      const std::optional<ClusterView> view,
      AwaitDispatcher(*resolver, command.cluster.uri, command.watch,
                      command.options.config.dispatcher_timeout));
  if (!view.has_value()) return absl::OkStatus();
  const ServerFlags& flags = command.server;
  ServerConfig config;
  flags.Set(config.endpoint);
  config.endpoint.advertise = command.options.config.endpoint.advertise;
  config.worker = command.options.Config();
  config.registry = command.functions;
  const bool ipv6 = flags.host.find(':') != flags.host.npos;
  const std::string host = ipv6 ? "[" + flags.host + "]" : flags.host;
  const ServerDef def = UnlistedWorker(view->spec.AsClusterDef(),
                                       fmt::format("{}:{}", host, flags.port));
  const auto dispatcher = FindDispatcherTask(def.cluster);
  if (dispatcher.ok() && SplitTaskAddress(dispatcher->address).port == 0) {
    return InvalidArgument(
        "the dispatcher's address '{}' in '{}' has no port, so only tasks that "
        "the cluster lists can find it; give it one, or run 'feedmill server'",
        dispatcher->address, command.cluster.uri);
  }
  FM_ASSIGN_OR_RETURN(
      const auto server,
      Server::Create(def, {.config = std::move(config), .start = false}));
  return RunTask(*server, {.resolver = resolver,
                           .known = view->spec,
                           .watch = command.watch,
                           .ready_file = flags.ready_file,
                           .http = flags.http,
                           .drain_timeout = command.options.drain_timeout});
}

// Works for the dispatcher at one address.
absl::Status WorkForDispatcher(const WorkerCommand& command) {
  const ServerFlags& flags = command.server;
  WorkerConfig config = command.options.Config();
  flags.Set(config.endpoint);
  config.registry = command.functions;

  StopSignals signals;
  AddressFile ready(flags.ready_file);
  FM_RETURN_IF_ERROR(ready.Prepare());
  WorkerServer worker(std::move(config));
  FM_RETURN_IF_ERROR(worker.Start());
  const MonitorSources sources{.worker = [&] { return worker.ExportStatus(); }};
  FM_ASSIGN_OR_RETURN(ServiceNotifier notifier,
                      ServiceNotifier::FromEnvironment(sources));
  HttpEndpoint http(flags.http, sources);
  FM_RETURN_IF_ERROR(http.Start());
  absl::Status announced;
  std::thread registrar([&] {
    if (!worker.WaitRegistered(absl::InfiniteDuration()).ok()) return;
    announced = ready.Write(worker.target());
    if (!announced.ok()) worker.Stop();
  });
  const absl::Status status = ServeUntilStopped(
      signals, notifier, [&] { return worker.Join(); },
      [&](int) {
        LogInfo("draining; a second signal stops at once");
        worker.Drain(command.options.drain_timeout);
      });
  registrar.join();
  FM_RETURN_IF_ERROR(announced);
  return status;
}

}  // namespace

absl::StatusOr<int> RunWorker(const Invocation& invocation) {
  WorkerCommand command;
  FlagSet flags("worker", kWorkerSummary, kWorkerExamples);
  command.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  const bool cluster = command.cluster.given();
  if (cluster != command.options.config.dispatcher.empty()) {
    return flags.Error(cluster ? "--dispatcher and --cluster exclude each other"
                               : "--dispatcher HOST:PORT or --cluster URI is "
                                 "missing");
  }
  if (flags.Given("--watch") && !cluster) {
    return flags.Error("--watch needs --cluster");
  }
  FM_RETURN_IF_ERROR(command.server.log.SetUp("worker"));
  FM_ASSIGN_OR_RETURN(command.functions,
                      command.op_plugins.AddTo(invocation.registry));
  FM_RETURN_IF_ERROR(cluster ? WorkForCluster(invocation, command)
                             : WorkForDispatcher(command));
  return 0;
}

}  // namespace feedmill

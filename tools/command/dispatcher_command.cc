#include <atomic>

#include "core/base/status.h"
#include "core/net/log.h"
#include "feedmill/dispatcher.h"
#include "server/address_file.h"
#include "tools/command/batch_sample.h"
#include "tools/command/commands.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/scale_actor.h"
#include "tools/command/server_flags.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

constexpr char kDispatcherSummary[] =
    "Plans jobs and hands their work out to workers. Its state is in memory, "
    "or\n"
    "in --work-dir: then workers and readers continue when it is restarted.\n"
    "Runs until SIGTERM or SIGINT (exit 0).";
constexpr char kDispatcherExamples[] =
    "Examples:\n"
    "  feedmill dispatcher --port 5050\n"
    "  feedmill dispatcher --port 5050 --work-dir /var/lib/feedmill\n"
    "  feedmill dispatcher --port 5050 --work-dir s3://bucket/state --standby\n"
    "  feedmill dispatcher --host 0.0.0.0 --port 5050 --keys "
    "/etc/feedmill/keys\n"
    "  feedmill dispatcher --ready-file /run/feedmill/address &";

}  // namespace

absl::StatusOr<int> RunDispatcher(const Invocation& invocation) {
  ServerFlags server;
  DispatcherConfig config;
  ScaleFlags scale;
  OpPluginFlag op_plugins;
  FlagSet flags("dispatcher", kDispatcherSummary, kDispatcherExamples);
  DeclareDispatcherFlags(flags, config);
  scale.Declare(flags, config.settings.scale);
  flags.Text(
      "--advertise", "HOST[:PORT]",
      "Address at which workers and readers reach the dispatcher; default: the "
      "host, or this machine's address of its default route",
      &config.endpoint.advertise);
  server.Declare(flags, "workers and readers");
  op_plugins.Declare(flags);
  flags.Configurable();
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  FM_RETURN_IF_ERROR(server.log.SetUp("dispatcher"));

  FM_ASSIGN_OR_RETURN(config.registry, op_plugins.AddTo(invocation.registry));
  StopSignals signals;
  AddressFile ready(server.ready_file);
  FM_RETURN_IF_ERROR(ready.Prepare());
  server.Set(config.endpoint);
  scale.Set(config.settings.scale);
  ScaleActor actor(scale);
  FM_RETURN_IF_ERROR(actor.Start());
  config.on_workers_wanted = [&](uint64_t workers) { actor.Want(workers); };
  config.stop_waiting = [&signals] {
    return signals.Wait(-1, absl::ZeroDuration()).has_value();
  };
  const bool standby = config.standby;
  std::atomic<bool> waits = standby;
  DispatchServer dispatcher(std::move(config));
  MonitorSources sources{
      .dispatcher = [&] { return dispatcher.ExportSnapshot(); },
      .status = [&] { return dispatcher.ExportState(); },
      .verdict =
          [&](const std::string& job) { return dispatcher.ExportVerdict(job); },
      .events = [&] { return dispatcher.ExportEvents(); },
      .drain =
          [&](const std::string& worker, bool drains) {
            return dispatcher.DrainWorker(worker, drains);
          },
      .cancel =
          [&](const std::string& job) { return dispatcher.CancelJob(job); },
      .sample = [&](const std::string& job,
                    uint64_t batch) -> absl::StatusOr<std::string> {
        FM_ASSIGN_OR_RETURN(const ExportedRun run, dispatcher.ExportRun(job));
        return SampleBatch(run, batch, op_plugins.paths);
      }};
  if (standby) sources.standby = [&waits] { return waits.load(); };
  HttpEndpoint http(server.http, sources);
  // A standby is seen while it waits, unless the leader has its port.
  const absl::Status seen = standby ? http.Start() : Unavailable("later");
  if (!seen.ok() && !absl::IsUnavailable(seen)) return seen;
  const absl::Status started = dispatcher.Start();
  if (absl::IsCancelled(started)) return 0;
  FM_RETURN_IF_ERROR(started);
  waits = false;
  FM_ASSIGN_OR_RETURN(ServiceNotifier notifier,
                      ServiceNotifier::FromEnvironment(sources));
  if (!seen.ok()) FM_RETURN_IF_ERROR(http.Start());
  FM_RETURN_IF_ERROR(ready.Write(dispatcher.target()));
  FM_RETURN_IF_ERROR(ServeUntilStopped(
      signals, notifier, [&] { return dispatcher.Join(); },
      [&](int) {
        LogInfo("stopping");
        ready.Remove();
        // A standby of this machine may take its ports once the dispatcher
        // ends.
        http.Stop();
        dispatcher.Stop();
      }));
  return 0;
}

}  // namespace feedmill

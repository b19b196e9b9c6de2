#include "broker/dispatch_server.h"
#include "core/base/status.h"
#include "core/net/log.h"
#include "tools/command/commands.h"
#include "tools/command/ready_file.h"
#include "tools/command/server_flags.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

constexpr char kSummary[] =
    "Plans jobs and hands their work out to workers. Its state is in memory, "
    "or\n"
    "in --work-dir: then workers and readers go on when it is restarted.\n"
    "Runs until SIGTERM or SIGINT (exit 0).";
constexpr char kExamples[] =
    "Examples:\n"
    "  feedmill dispatcher --port 5050\n"
    "  feedmill dispatcher --port 5050 --work-dir /var/lib/feedmill\n"
    "  feedmill dispatcher --host 0.0.0.0 --port 5050 --log-format json\n"
    "  feedmill dispatcher --ready-file /run/feedmill/address &";

}  // namespace

absl::StatusOr<int> RunDispatcher(const Invocation& invocation) {
  ServerFlags server;
  FlagSet flags("dispatcher", kSummary, kExamples);
  std::string work_dir;
  flags.Text("--work-dir", "DIR",
             "Folder that keeps the state through restarts; one dispatcher at "
             "a time",
             &work_dir);
  server.Declare(flags, "workers and readers");
  FM_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(invocation.arguments));
  if (!go_on) return 0;
  FM_RETURN_IF_ERROR(server.SetUpLogging("dispatcher"));

  StopSignals signals;
  ReadyFile ready(server.ready_file);
  FM_RETURN_IF_ERROR(ready.Prepare());
  DispatcherConfig config;
  config.host = server.host;
  config.port = static_cast<uint16_t>(server.port);
  config.cluster_id = server.cluster_id;
  config.work_dir = work_dir;
  config.registry = invocation.registry;
  DispatchServer dispatcher(std::move(config));
  FM_RETURN_IF_ERROR(dispatcher.Start());
  FM_RETURN_IF_ERROR(ready.Write(dispatcher.target()));
  FM_RETURN_IF_ERROR(ServeUntilStopped(
      signals, [&] { return dispatcher.Join(); },
      [&](int) {
        LogInfo("stopping");
        ready.Remove();
        dispatcher.Stop();
      }));
  return 0;
}

}  // namespace feedmill

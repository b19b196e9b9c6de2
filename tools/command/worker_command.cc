#include <thread>

#include "core/base/status.h"
#include "core/net/log.h"
#include "server/address_file.h"
#include "tools/command/commands.h"
#include "tools/command/security_flags.h"
#include "tools/command/server_flags.h"
#include "tools/command/stop_signals.h"
#include "worker/worker_server.h"

namespace feedmill {
namespace {

constexpr char kSummary[] =
    "Reads, decodes and batches what a dispatcher hands to it, and sends it "
    "to\n"
    "readers. SIGTERM or SIGINT: finishes what it has (--drain-timeout at "
    "most),\n"
    "then exits 0; a second one stops it at once.";
constexpr char kExamples[] =
    "Examples:\n"
    "  feedmill worker --dispatcher tcp://10.0.0.1:5050 --host 0.0.0.0 \\\n"
    "      --keys /etc/feedmill/keys\n"
    "  feedmill worker --dispatcher localhost:5050 --threads 4 --memory 1GiB\n"
    "  feedmill worker --dispatcher broker:5050 --host 0.0.0.0 --port 6000 \\\n"
    "      --advertise node7.example.org:6000 --insecure-bind";

}  // namespace

absl::StatusOr<int> RunWorker(const Invocation& invocation) {
  ServerFlags server;
  WorkerOptions options;
  FlagSet flags("worker", kSummary, kExamples);
  options.Declare(flags);
  flags.Text("--advertise", "HOST[:PORT]",
             "Where readers reach this worker; default: its address on the "
             "way to the dispatcher",
             &options.config.advertise);
  server.Declare(flags, "readers");
  DeclareServerKey(flags, &server.security);
  flags.Configurable();
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (options.config.dispatcher.empty()) {
    return flags.Error("--dispatcher HOST:PORT is missing");
  }
  FM_RETURN_IF_ERROR(server.SetUpLogging("worker"));
  WorkerConfig config = options.Config();
  config.host = server.host;
  config.port = static_cast<uint16_t>(server.port);
  config.cluster_id = server.cluster_id;
  config.security = server.security;
  config.insecure_bind = server.insecure_bind;
  config.registry = invocation.registry;

  StopSignals signals;
  AddressFile ready(server.ready_file);
  FM_RETURN_IF_ERROR(ready.Prepare());
  WorkerServer worker(std::move(config));
  FM_RETURN_IF_ERROR(worker.Start());
  absl::Status announced;
  std::thread registrar([&] {
    if (!worker.WaitRegistered(absl::InfiniteDuration()).ok()) return;
    announced = ready.Write(worker.target());
    if (!announced.ok()) worker.Stop();
  });
  const absl::Status status = ServeUntilStopped(
      signals, [&] { return worker.Join(); },
      [&](int) {
        LogInfo("draining; a second signal stops at once");
        worker.Drain(options.drain_timeout);
      });
  registrar.join();
  FM_RETURN_IF_ERROR(announced);
  FM_RETURN_IF_ERROR(status);
  return 0;
}

}  // namespace feedmill

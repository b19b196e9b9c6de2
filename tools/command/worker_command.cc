#include <thread>

#include "core/base/status.h"
#include "core/net/log.h"
#include "tools/command/commands.h"
#include "tools/command/ready_file.h"
#include "tools/command/server_flags.h"
#include "tools/command/stop_signals.h"
#include "worker/worker_server.h"

namespace feedmill {
namespace {

constexpr char kSummary[] =
    "Reads, decodes and batches what a dispatcher hands to it, and sends it "
    "to\n"
    "readers. SIGTERM or SIGINT: finishes what it has (8 s at most),\n"
    "then exits 0; a second one stops it at once.";
constexpr char kExamples[] =
    "Examples:\n"
    "  feedmill worker --dispatcher tcp://10.0.0.1:5050 --host 0.0.0.0\n"
    "  feedmill worker --dispatcher localhost:5050 --threads 4 --memory 1GiB\n"
    "  feedmill worker --dispatcher broker:5050 --host 0.0.0.0 --port 6000 \\\n"
    "      --advertise node7.example.org:6000";

// Below the ten seconds that service managers commonly give: what is not done
// by then is computed elsewhere.
constexpr absl::Duration kDrainTimeout = absl::Seconds(8);

struct WorkerFlags {
  ServerFlags server;
  WorkerConfig config;
  uint64_t threads = 0;

  void Declare(FlagSet& flags) {
    flags.Text("--dispatcher", "HOST:PORT",
               "Address of the dispatcher (required)", &config.dispatcher);
    flags.Duration("--dispatcher-timeout",
                   "How long to wait for a dispatcher that does not answer",
                   &config.dispatcher_timeout);
    flags.Count("--threads", 1, 1024,
                "Threads that compute; default: the CPUs that it may use",
                &threads);
    flags.Bytes("--memory", "Elements computed and not yet sent, at most",
                &config.memory_bytes);
    flags.Text("--advertise", "HOST[:PORT]",
               "Where readers reach this worker; default: its address on the "
               "way to the dispatcher",
               &config.advertise);
    server.Declare(flags, "readers");
  }
};

}  // namespace

absl::StatusOr<int> RunWorker(const Invocation& invocation) {
  WorkerFlags worker_flags;
  FlagSet flags("worker", kSummary, kExamples);
  worker_flags.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(invocation.arguments));
  if (!go_on) return 0;
  WorkerConfig& config = worker_flags.config;
  const ServerFlags& server = worker_flags.server;
  if (config.dispatcher.empty()) {
    return flags.Error("--dispatcher HOST:PORT is missing");
  }
  FM_RETURN_IF_ERROR(server.SetUpLogging("worker"));
  config.threads = static_cast<int>(worker_flags.threads);
  config.host = server.host;
  config.port = static_cast<uint16_t>(server.port);
  config.cluster_id = server.cluster_id;
  config.registry = invocation.registry;

  StopSignals signals;
  ReadyFile ready(server.ready_file);
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
        worker.Drain(kDrainTimeout);
      });
  registrar.join();
  FM_RETURN_IF_ERROR(announced);
  FM_RETURN_IF_ERROR(status);
  return 0;
}

}  // namespace feedmill

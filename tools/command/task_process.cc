#include "tools/command/task_process.h"

#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/cluster_watch.h"
#include "core/net/log.h"
#include "server/address_file.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

std::unique_ptr<ClusterWatch> Watch(const TaskProcess& process,
                                    Server& server) {
  ClusterWatchOptions options{.interval = process.watch,
                              .known = process.known};
  options.on_change = [&server](const ClusterView& view,
                                const std::vector<ClusterChange>& changes) {
    for (const ClusterChange& change : changes) {
      LogInfo("the cluster changed: {}", ToString(change));
    }
    const absl::Status updated =
        server.UpdateServerDef({.cluster = view.spec.AsClusterDef()});
    if (!updated.ok()) {
      LogWarning("cannot follow the cluster: {}", ErrorText(updated));
    }
  };
  options.on_trouble = [](const absl::Status& status) {
    LogWarning("cannot look whether the cluster changed: {}",
               ErrorText(status));
  };
  return std::make_unique<ClusterWatch>(process.resolver, std::move(options));
}

}  // namespace

absl::Status RunTask(Server& server, const TaskProcess& process) {
  StopSignals signals;
  AddressFile ready(process.ready_file);
  FM_RETURN_IF_ERROR(ready.Prepare());
  FM_RETURN_IF_ERROR(server.Start());
  // Begins once signals are blocked: its thread must not get them.
  const std::unique_ptr<ClusterWatch> watching = Watch(process, server);
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
        server.Drain(process.drain_timeout);
      });
  announcer.join();
  FM_RETURN_IF_ERROR(announced);
  return status;
}

}  // namespace feedmill

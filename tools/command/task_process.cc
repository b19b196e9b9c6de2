#include "tools/command/task_process.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/cluster_watch.h"
#include "core/net/clock.h"
#include "core/net/log.h"
#include "server/address_file.h"
#include "server/server_def.h"
#include "tools/command/batch_sample.h"
#include "tools/command/scale_actor.h"
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

// Returns the status sources for the task's role.
MonitorSources SourcesOf(Server& server, const std::string& op_plugins) {
  MonitorSources sources;
  const TaskRole role = RoleOf(server.server_def().job_name);
  if (role == TaskRole::kDispatcher || role == TaskRole::kLocal) {
    sources.dispatcher = [&server] { return server.ExportSnapshot(); };
    sources.status = [&server] { return server.ExportState(); };
    sources.verdict = [&server](const std::string& job) {
      return server.ExportVerdict(job);
    };
    sources.events = [&server] { return server.ExportEvents(); };
    sources.drain = [&server](const std::string& worker, bool drains) {
      return server.DrainWorker(worker, drains);
    };
    sources.cancel = [&server](const std::string& job) {
      return server.CancelJob(job);
    };
    sources.sample = [&server, op_plugins](
                         const std::string& job,
                         uint64_t batch) -> absl::StatusOr<std::string> {
      FM_ASSIGN_OR_RETURN(const ExportedRun run, server.ExportRun(job));
      return SampleBatch(run, batch, op_plugins);
    };
  }
  if (role == TaskRole::kWorker || role == TaskRole::kLocal) {
    sources.worker = [&server] { return server.ExportWorker(); };
  }
  return sources;
}

// Pauses between polls for a dispatcher, short at first.
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLastPause = absl::Seconds(2);
constexpr absl::Duration kLogInterval = absl::Seconds(10);

}  // namespace

absl::Status CheckHasJobs(const ClusterView& view, const std::string& uri) {
  if (!view.spec.empty()) return absl::OkStatus();
  if (view.no_jobs_because.empty()) {
    return InvalidArgument(
        "the cluster '{}' has no jobs, so this process can be no task of it",
        uri);
  }
  return InvalidArgument(
      "the cluster '{}' has no jobs: {}; set it, or give --cluster another URI",
      uri, view.no_jobs_because);
}

absl::StatusOr<std::optional<ClusterView>> AwaitDispatcher(
    const ClusterResolver& resolver, const std::string& uri,
    absl::Duration watch, absl::Duration timeout, std::string_view option) {
  StopSignals signals;
  const absl::Time begun = SteadyNow();
  absl::Time say_at = begun;
  absl::Duration pause = std::min(watch, kFirstPause);
  for (absl::Time now = begun;; now = SteadyNow()) {
    absl::StatusOr<ClusterView> view = resolver.Resolve();
    if (!view.ok() && now == begun) return view.status();
    absl::Status missing = view.status();
    if (view.ok()) {
      // A variable of this process cannot change, so waiting is useless.
      if (!view->no_jobs_because.empty()) {
        FM_RETURN_IF_ERROR(CheckHasJobs(*view, uri));
      }
      missing = FindDispatcherTask(view->spec.AsClusterDef()).status();
      if (!absl::IsNotFound(missing)) {
        FM_RETURN_IF_ERROR(missing);
        return std::optional<ClusterView>(*std::move(view));
      }
    }
    if (now - begun >= timeout) {
      return DeadlineExceeded(
          "no dispatcher in the cluster '{}' for {} ({}): {}", uri,
          absl::FormatDuration(timeout), option, ErrorText(missing));
    }
    if (now >= say_at) {
      LogInfo("waiting for a dispatcher in the cluster '{}': {}", uri,
              ErrorText(missing));
      say_at = now + kLogInterval;
    }
    const absl::Duration left = begun + timeout - now;
    if (signals.Wait(-1, std::min(pause, left)).has_value()) {
      return std::optional<ClusterView>();
    }
    pause = std::min({2 * pause, watch, kLastPause});
  }
}

absl::Status RunTask(Server& server, const TaskProcess& process) {
  StopSignals signals;
  AddressFile ready(process.ready_file);
  FM_RETURN_IF_ERROR(ready.Prepare());
  if (process.scale != nullptr) FM_RETURN_IF_ERROR(process.scale->Start());
  FM_RETURN_IF_ERROR(server.Start());
  const MonitorSources sources = SourcesOf(server, process.op_plugins);
  FM_ASSIGN_OR_RETURN(ServiceNotifier notifier,
                      ServiceNotifier::FromEnvironment(sources));
  HttpEndpoint http(process.http, sources);
  FM_RETURN_IF_ERROR(http.Start());
  // Starts after signals are blocked, so that its thread does not receive them.
  const std::unique_ptr<ClusterWatch> watching = Watch(process, server);
  absl::Status announced;
  std::thread announcer([&] {
    if (!server.WaitReady(absl::InfiniteDuration()).ok()) return;
    announced = ready.Write(server.target());
    if (!announced.ok()) server.Stop();
  });
  const absl::Status status = ServeUntilStopped(
      signals, notifier, [&] { return server.Join(); },
      [&](int) {
        LogInfo("stopping; a second signal stops at once");
        server.Drain(process.drain_timeout);
      });
  announcer.join();
  FM_RETURN_IF_ERROR(announced);
  return status;
}

}  // namespace feedmill

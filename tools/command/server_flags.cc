#include "tools/command/server_flags.h"

#include <utility>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/role_resolver.h"
#include "core/cluster/words.h"
#include "core/net/log.h"
#include "feedmill/resolver.h"
#include "tools/command/security_flags.h"

namespace feedmill {

void HttpFlags::Declare(FlagSet& flags, const std::string& paths) {
  flags.Text("--http", "HOST:PORT",
             fmt::format("Address at which to answer {}; port 0 is any free "
                         "one; default: none",
                         paths),
             &at);
  flags.Text("--http-ready-file", "FILE",
             "Appears, holding http://host:port, when --http answers; goes at "
             "exit",
             &ready_file);
  flags.Bool("--http-open",
             "Allow --http on non-loopback addresses: any process that can "
             "connect may read metrics and the names of jobs and files",
             &open);
}

void HttpFlags::DeclareToken(FlagSet& flags) {
  flags.Text("--http-token-file", "FILE",
             "Holds the token with which operators may drain workers and "
             "cancel jobs over --http of a dispatcher; default: no client may",
             &token_file);
}

HttpEndpoint::HttpEndpoint(const HttpFlags& flags, MonitorSources sources)
    : flags_(flags),
      ready_(flags.ready_file, "--http-ready-file"),
      sources_(std::move(sources)) {}

absl::Status HttpEndpoint::Start() {
  if (flags_.at.empty()) {
    if (flags_.ready_file.empty() && flags_.token_file.empty()) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "{} needs --http HOST:PORT",
        flags_.ready_file.empty() ? "--http-token-file" : "--http-ready-file");
  }
  OperatorGate gate;
  if (!flags_.token_file.empty()) {
    FM_ASSIGN_OR_RETURN(gate, OperatorGate::FromFile(flags_.token_file));
  }
  FM_RETURN_IF_ERROR(ready_.Prepare());
  const bool has_page = sources_.status != nullptr;
  monitor_.emplace(sources_, std::move(gate));
  FM_RETURN_IF_ERROR(
      Annotate(monitor_->Start(flags_.at, flags_.open), "--http"));
  LogInfo("{} at {}{}", has_page ? "page and metrics" : "metrics",
          monitor_->address(), has_page ? "/" : "/metrics");
  return ready_.Write(monitor_->address());
}

void ClusterFlags::Declare(FlagSet& flags, const std::string& help) {
  flags.Text("--cluster", "URI", help, &uri);
  flags.Text("--jobs", "ROLE=JOB[,...]",
             "Jobs of the cluster that are the service, such as "
             "dispatcher=ps,worker=data. A role without a job has no tasks; "
             "default: the jobs named like the roles",
             &jobs);
}

std::string ClusterFlags::Uri() const {
  if (jobs.empty()) return uri;
  return fmt::format("{}{}roles={}", uri, uri.find('?') == uri.npos ? '?' : '&',
                     PercentEncoded(jobs));
}

absl::StatusOr<std::string> ClusterFlags::RenamedJob(
    const std::string& job) const {
  if (jobs.empty()) return job;
  FM_ASSIGN_OR_RETURN(const JobRoles roles, ParseJobRoles(jobs));
  return feedmill::RenamedJob(roles, job);
}

void ServerFlags::Declare(FlagSet& flags, const std::string& serves) {
  flags.Count("--port", 0, 65535, "Port to listen on; 0 is any free one",
              &port);
  DeclareWithoutPort(flags, serves);
}

void ServerFlags::DeclareWithoutPort(FlagSet& flags,
                                     const std::string& serves) {
  flags.Text("--host", "HOST",
             "Name or address of this machine to listen on for " + serves +
                 "; 0.0.0.0 is all addresses",
             &host);
  flags.Text("--ready-file", "FILE",
             "Appears, holding tcp://host:port, when all is ready; goes at "
             "exit",
             &ready_file);
  flags.Text("--cluster-id", "NAME", "Refuse peers that name another cluster",
             &cluster_id);
  DeclareKeys(flags, &security);
  flags.Bool("--insecure-bind",
             "Allow listening on non-loopback addresses without --keys: any "
             "process that can connect may read and control",
             &insecure_bind);
  log.Declare(flags);
  http.Declare(flags,
               "/metrics (Prometheus), /healthz, /readyz, and a dispatcher a "
               "page for browsers at / and /api/status");
  http.DeclareToken(flags);
}

namespace {

constexpr uint32_t kCountMax = 1'000'000;

void DeclareLimits(FlagSet& flags, DispatcherSettings& settings) {
  flags.Duration("--straggler-after",
                 "A split that a reader has waited for this long without an "
                 "element is given to a second worker",
                 &settings.straggler_after);
  flags.Duration("--restart-grace",
                 "Time after a restart in which workers report their splits; "
                 "splits that no worker reports are then assigned again",
                 &settings.restart_grace);
  flags.Duration("--split-time", "Duration of work in a split",
                 &settings.split_time);
  flags.Bytes("--split-bytes", "Bytes of elements in a split, at most",
              &settings.split_bytes);
  flags.Count("--window-min", 1, 4'096,
              "Splits assigned ahead of each reader, at least; default: 2 for "
              "each slot of the workers",
              &settings.window_min);
  flags.Count("--attempts-max", 1, kCountMax,
              "A job fails after this number of failed attempts at one split",
              &settings.attempts_max);
  flags.Count("--deaths-alone-max", 1, kCountMax,
              "A job fails after this number of workers died while they "
              "processed one record alone",
              &settings.deaths_alone_max);
  flags.Count(
      "--jobs-max", 1, kCountMax,
      "Jobs kept, at most; the oldest jobs without readers are forgotten first",
      &settings.jobs_max);
  flags.Bytes(
      "--job-bytes-max",
      "Bytes of the definitions and lists of files of all jobs, at most",
      &settings.job_bytes_max);
  flags.Count("--sessions-max", 1, kCountMax,
              "Readers connected at a time, of all jobs",
              &settings.sessions_max);
  flags.Count("--workers-max", 1, kCountMax, "Workers at a time",
              &settings.workers_max);
}

}  // namespace

void DeclareDispatcherFlags(FlagSet& flags, DispatcherConfig& config) {
  flags.Text("--work-dir", "DIR",
             "Folder with a dispatcher's state, which survives restarts; one "
             "dispatcher at a time. Of this machine, s3://BUCKET/FOLDER, or "
             "postgresql://HOST/DATABASE",
             &config.work_dir);
  flags.Bool("--standby",
             "Wait until no other dispatcher has --work-dir, then take over",
             &config.standby);
  flags.Bool("--fault-tolerant-mode",
             "Refuse to run a dispatcher without --work-dir",
             &config.fault_tolerant_mode);
  flags.Duration("--heartbeat-interval",
                 "Shortest interval between heartbeats of a worker or reader",
                 &config.settings.heartbeat_interval);
  flags.Duration("--worker-timeout",
                 "A worker without a heartbeat for this long, or for 4 "
                 "intervals, is lost: other workers do its work",
                 &config.settings.worker_timeout);
  flags.Duration("--park-after",
                 "Workers stop computing for a reader without a heartbeat for "
                 "this long, or for 4 intervals, until its next heartbeat",
                 &config.settings.park_after);
  flags.Duration("--client-timeout",
                 "A reader without a heartbeat for this long loses its session",
                 &config.settings.client_timeout);
  flags.Duration("--sharer-timeout",
                 "--client-timeout of readers that share a job (order any)",
                 &config.settings.sharer_timeout);
  DeclareLimits(flags, config.settings);
}

void WorkerOptions::Declare(FlagSet& flags) {
  flags.Text("--dispatcher", "HOST:PORT", "Address of a worker's dispatcher",
             &config.dispatcher);
  flags.Duration("--dispatcher-timeout",
                 "Longest wait of a worker for a dispatcher that does not "
                 "answer, or that its cluster does not list yet",
                 &config.dispatcher_timeout);
  flags.Count("--threads", 1, 1024,
              "Threads of a worker; default: the CPUs available to it",
              &threads);
  flags.Bytes("--memory",
              "Elements that a worker has computed and not yet sent, at most; "
              "default: 64MiB a thread, at least 256MiB, and no more than that "
              "if an eighth of the memory is less",
              &config.memory_bytes);
  flags.Bytes(
      "--element-max",
      "Largest element, and component of one; a larger one is an error of "
      "its element, for its reader only; default: 1GiB, which is the "
      "most, or an eighth of the memory where that is less",
      &config.element_bytes_max);
  flags.Bytes("--frame-bytes", "Elements that a worker sends at a time, about",
              &config.frame_bytes);
  flags.OneOf("--transport", {"auto", "tcp"},
              "Transport of elements: auto shares memory with readers on this "
              "host",
              &transport);
  flags.Bytes("--shared-memory",
              "Shared memory, at most; default: as much as --memory",
              &shared_memory);
  flags.Text("--allow-python", "FILE",
             "Interpreter that runs the Python functions of pipelines; any "
             "reader may then run any code as this user; default: none",
             &config.allow_python);
  flags.Duration(
      "--drain-timeout",
      "Longest time of a drain: other workers take the splits of a worker that "
      "is asked to stop; the last worker finishes its own",
      &drain_timeout);
}

WorkerConfig WorkerOptions::Config() const {
  WorkerConfig full = config;
  full.threads = static_cast<int>(threads);
  if (shared_memory > 0) full.shared_bytes = shared_memory;
  if (transport == "tcp") full.shared_bytes = 0;
  return full;
}

void ServerFlags::Set(EndpointConfig& endpoint) const {
  endpoint.host = host;
  endpoint.port = static_cast<uint16_t>(port);
  endpoint.cluster_id = cluster_id;
  endpoint.security = security;
  endpoint.insecure_bind = insecure_bind;
}

void LogFlags::Declare(FlagSet& flags) {
  flags.OneOf("--log-format", {"text", "json"}, "Format of log lines on stderr",
              &format);
  flags.OneOf("--log-level", {"debug", "info", "warning", "error", "off"},
              "Lowest level that is logged; debug has a line for each split",
              &level);
  flags.Text("--log-name", "NAME",
             "Name of this process in each log line; default: its role", &name);
}

absl::Status LogFlags::SetUp(const std::string& role) const {
  LogLevel lowest = LogLevel::kInfo;
  LogFormat form = LogFormat::kText;
  FM_RETURN_IF_ERROR(ParseLogLevel(level, lowest));
  FM_RETURN_IF_ERROR(ParseLogFormat(format, form));
  SetUpLog(lowest, form, name.empty() ? role : name);
  return absl::OkStatus();
}

}  // namespace feedmill

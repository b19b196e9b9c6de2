#include "feedmill/server.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "broker/dispatcher_snapshot.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/lifecycle.h"
#include "core/net/log.h"
#include "core/net/security.h"
#include "server/address_board.h"
#include "server/plain_task.h"
#include "server/server_def.h"
#include "worker/worker_status.h"

namespace feedmill {
namespace {

// Interval at which a running server checks its services and the board.
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);
constexpr absl::Duration kLogInterval = absl::Seconds(10);
// An address outside this network, to find the default route; nothing is sent
// to it.
const Address kAnywhere{"192.0.2.1", 9};

// Returns the host to bind to: `own` if it is numeric or loopback, else every
// interface. A machine may resolve its own name to loopback, which other
// machines cannot reach.
std::string HostToListenOn(const std::string& own) {
  const bool numeric = own.find(':') != own.npos ||
                       own.find_first_not_of("0123456789.") == own.npos;
  return numeric || IsLoopback(own) ? own : "0.0.0.0";
}

// "host:port" without the port.
std::string HostOf(const std::string& advertised) {
  const auto address = ParseHost(advertised, /*default_port=*/1);
  return address.ok() ? address->host : advertised;
}

TaskRole RoleIn(const ServerDef& def, const ServerConfig& config) {
  const TaskRole role = RoleOf(def.job_name);
  const bool only_listens =
      role == TaskRole::kWorker && config.listens_without_dispatcher &&
      config.worker.dispatcher.empty() &&
      absl::IsNotFound(FindDispatcherTask(def.cluster).status());
  return only_listens ? TaskRole::kPlain : role;
}

std::string WithoutScheme(const std::string& target) {
  const size_t slashes = target.find("://");
  return slashes == target.npos ? target : target.substr(slashes + 3);
}

}  // namespace

class Server::Shell {
 public:
  Shell(ServerDef def, ServerConfig config)
      : config_(std::move(config)),
        role_(RoleIn(def, config_)),
        lifecycle_("server"),
        board_(config_.publish),
        def_(std::move(def)) {
    const std::string& address = OwnAddress(def_);
    own_host_ = SplitTaskAddress(address).host;
    if (config_.endpoint.host.empty())
      config_.endpoint.host = HostToListenOn(own_host_);
  }

  // Finds the address of a worker's dispatcher.
  absl::Status Check();
  absl::Status Start() {
    return lifecycle_.Start([this] {
      absl::Status begun = Begin();
      if (!begun.ok()) Release();  // Start may be called again
      return begun;
    });
  }
  absl::Status WaitReady(absl::Duration timeout);
  void Drain(absl::Duration timeout);
  void Stop();
  absl::Status Join() { return lifecycle_.Join(); }
  absl::Status Update(const ServerDef& def);

  ServerDef def() const {
    const std::lock_guard lock(mu_);
    return def_;
  }
  // Returned without the lock held, because a call may take a while.
  absl::StatusOr<std::shared_ptr<DispatchServer>> Dispatcher() const {
    const std::lock_guard lock(mu_);
    if (dispatcher_ != nullptr) return dispatcher_;
    return FailedPrecondition("this task is no dispatcher, or has not begun");
  }
  absl::StatusOr<std::shared_ptr<WorkerServer>> Worker() const {
    const std::lock_guard lock(mu_);
    if (worker_ != nullptr) return worker_;
    return FailedPrecondition(
        "this task is no worker, or waits for a "
        "dispatcher in its cluster");
  }
  absl::StatusOr<ClusterSpec> Cluster() const;
  std::string target() const {
    const std::lock_guard lock(mu_);
    return target_;
  }

 private:
  // A worker's dispatcher: an address, or a task that publishes its address.
  using DispatcherPlace = std::variant<std::string, DispatcherTask>;

  static std::string& OwnAddress(ServerDef& def);
  absl::StatusOr<DispatcherPlace> PlaceOf(const DispatcherTask& task) const;
  absl::Status CheckIsOwn(const ServerDef& def) const;
  std::string AdvertisedHost() const;
  bool has_worker() const {
    return role_ == TaskRole::kWorker || role_ == TaskRole::kLocal;
  }

  absl::Status Begin();
  absl::Status BeginDispatcher();
  absl::Status BeginWorker(const std::string& dispatcher);
  absl::Status FollowWorkerAddress();
  absl::Status BeginPlain();
  absl::Status TakeTarget(const std::string& target);
  void Release();
  std::string StatusJson() const;
  absl::Status Refused() const;

  // The thread that monitors the services. Holds mu_ except while waiting.
  void Tend();
  std::optional<absl::Status> Look();
  absl::Status FollowDispatcher();
  absl::Status FollowTo(const std::string& dispatcher);
  absl::Status AwaitDispatcher();

  ServerConfig config_;
  const TaskRole role_;
  Lifecycle lifecycle_;
  AddressBoard board_;
  std::string own_host_;
  std::thread tender_;

  mutable std::mutex mu_;
  std::condition_variable changed_;
  // All members below are guarded by mu_.
  std::shared_ptr<DispatchServer> dispatcher_;
  std::shared_ptr<WorkerServer> worker_;
  std::unique_ptr<PlainTask> plain_;
  DispatcherPlace dispatcher_place_;
  std::string followed_;  // address of worker_'s dispatcher
  ServerDef def_;
  std::string target_;
  absl::Time waits_since_;
  absl::Time next_log_;
  bool ready_ = false;
  bool draining_ = false;
  bool stopping_ = false;
};

std::string& Server::Shell::OwnAddress(ServerDef& def) {
  const auto job = std::find_if(
      def.cluster.jobs.begin(), def.cluster.jobs.end(),
      [&](const ClusterDef::Job& each) { return each.name == def.job_name; });
  return job->tasks.at(*def.task_index);  // checked by CompleteServerDef
}

absl::StatusOr<Server::Shell::DispatcherPlace> Server::Shell::PlaceOf(
    const DispatcherTask& task) const {
  if (SplitTaskAddress(task.address).port != 0) return task.address;
  if (board_.present()) return task;
  return InvalidArgument(
      "the dispatcher's address '{}' has no port yet; give it one in the "
      "cluster, or a folder that all tasks see, where it is published "
      "(publish, --publish)",
      task.address);
}

absl::Status Server::Shell::Check() {
  if (!config_.endpoint.advertise.empty()) {
    const auto advertised =
        ParseHost(config_.endpoint.advertise, /*default_port=*/1);
    if (!advertised.ok()) return Annotate(advertised.status(), "advertise");
  }
  if (role_ != TaskRole::kWorker) return absl::OkStatus();
  const auto task = FindDispatcherTask(def_.cluster);
  if (!config_.worker.dispatcher.empty()) {
    if (task.ok()) {
      return InvalidArgument(
          "the cluster has a job \"{}\", so the worker's dispatcher '{}' must "
          "not be given beside it",
          task->job, config_.worker.dispatcher);
    }
    dispatcher_place_ = config_.worker.dispatcher;
    return ParseAddress(config_.worker.dispatcher).status();
  }
  if (!task.ok()) return task.status();
  FM_ASSIGN_OR_RETURN(dispatcher_place_, PlaceOf(*task));
  return absl::OkStatus();
}

absl::Status Server::Shell::Begin() {
  const std::lock_guard lock(mu_);
  FM_RETURN_IF_ERROR(board_.Prepare(def_.job_name, *def_.task_index));
  switch (role_) {
    case TaskRole::kDispatcher:
      FM_RETURN_IF_ERROR(BeginDispatcher());
      break;
    case TaskRole::kLocal:
      FM_RETURN_IF_ERROR(BeginDispatcher());
      FM_RETURN_IF_ERROR(BeginWorker(dispatcher_->target()));
      break;
    case TaskRole::kWorker:
      if (const auto* at = std::get_if<std::string>(&dispatcher_place_)) {
        FM_RETURN_IF_ERROR(BeginWorker(*at));
      }
      break;
    case TaskRole::kPlain:
      FM_RETURN_IF_ERROR(BeginPlain());
      break;
  }
  waits_since_ = next_log_ = SteadyNow();
  tender_ = std::thread([this] { Tend(); });
  return absl::OkStatus();
}

// Returns the host to advertise. "": the local address on the route to the
// peers.
std::string Server::Shell::AdvertisedHost() const {
  if (!config_.endpoint.advertise.empty())
    return HostOf(config_.endpoint.advertise);
  return IsWildcard(own_host_) ? "" : own_host_;
}

absl::Status Server::Shell::BeginDispatcher() {
  DispatcherConfig config = config_.dispatcher;
  config.endpoint = config_.endpoint;
  config.endpoint.port = def_.port;
  if (config.endpoint.advertise.empty()) {
    config.endpoint.advertise = AdvertisedHost();
  }
  config.registry = config_.registry;
  dispatcher_ = std::make_shared<DispatchServer>(std::move(config));
  FM_RETURN_IF_ERROR(dispatcher_->Start());
  ready_ = role_ == TaskRole::kDispatcher;
  return TakeTarget(dispatcher_->target());
}

absl::Status Server::Shell::BeginWorker(const std::string& dispatcher) {
  WorkerConfig config = config_.worker;
  config.dispatcher = dispatcher;
  config.endpoint = config_.endpoint;
  if (role_ == TaskRole::kWorker) {
    config.endpoint.port = def_.port;
  } else {
    config.endpoint.port = 0;
    config.endpoint.advertise = "";
  }
  if (config.endpoint.advertise.empty()) {
    config.endpoint.advertise = AdvertisedHost();
  }
  config.registry = config_.registry;
  worker_.reset();  // release the port first: it may be the same
  worker_ = std::make_shared<WorkerServer>(std::move(config));
  FM_RETURN_IF_ERROR(worker_->Start());
  followed_ = dispatcher;
  return role_ == TaskRole::kWorker ? FollowWorkerAddress() : absl::OkStatus();
}

// The connection to the dispatcher may decide the address, and change it.
absl::Status Server::Shell::FollowWorkerAddress() {
  const std::string target = worker_ == nullptr ? "" : worker_->target();
  if (target.empty() || target == target_) return absl::OkStatus();
  return TakeTarget(target);
}

absl::Status Server::Shell::BeginPlain() {
  plain_ = std::make_unique<PlainTask>(
      config_.endpoint.cluster_id, [this] { return StatusJson(); },
      [this] { return Refused(); });
  FM_ASSIGN_OR_RETURN(std::optional<Security> security,
                      LoadSecurity(config_.endpoint.security, Role::kWorker));
  if (security.has_value()) {
    FM_ASSIGN_OR_RETURN(
        security->allowed,
        AllowList::Open(config_.endpoint.security.keys, {Role::kOperator}));
  }
  FM_RETURN_IF_ERROR(CheckExposure(config_.endpoint.host, security.has_value(),
                                   config_.endpoint.insecure_bind));
  FM_ASSIGN_OR_RETURN(
      const uint16_t port,
      plain_->Start(config_.endpoint.host, def_.port, ServerSide(security)));
  ready_ = true;
  const std::string host = AdvertisedHost();
  Address at{host.empty() ? LocalAddressToward(kAnywhere) : host, port};
  if (!config_.endpoint.advertise.empty()) {
    FM_ASSIGN_OR_RETURN(at, ParseHost(config_.endpoint.advertise, port));
  }
  const std::string own = at.ToString();
  LogInfo("task {} of job \"{}\" at {}", *def_.task_index, def_.job_name, own);
  return TakeTarget(own);
}

absl::Status Server::Shell::TakeTarget(const std::string& target) {
  target_ = target;
  OwnAddress(def_) = WithoutScheme(target);
  return board_.Publish(target);
}

void Server::Shell::Release() {
  // The worker sends its last messages to the dispatcher, so the dispatcher
  // ends later.
  worker_.reset();
  dispatcher_.reset();
  plain_.reset();
  board_.Remove();
}

absl::Status Server::Shell::WaitReady(absl::Duration timeout) {
  const absl::Time deadline = SteadyNow() + timeout;
  std::unique_lock lock(mu_);
  for (;;) {
    if (ready_) return absl::OkStatus();
    if (lifecycle_.ended()) {
      const absl::Status why = lifecycle_.reason();
      return why.ok() ? Cancelled("the server was stopped before it was ready")
                      : why;
    }
    if (!lifecycle_.running()) {
      return FailedPrecondition(
          "the server has not been started: call Start first");
    }
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      return DeadlineExceeded("the server was not ready within {}",
                              absl::FormatDuration(timeout));
    }
    // The lifecycle ends under another lock and does not notify changed_: poll.
    changed_.wait_for(lock,
                      absl::ToChronoNanoseconds(std::min(left, kPollInterval)));
  }
}

void Server::Shell::Drain(absl::Duration timeout) {
  {
    const std::lock_guard lock(mu_);
    if (worker_ != nullptr && lifecycle_.running()) {
      draining_ = true;
      worker_->Drain(timeout);  // the worker's end ends the server
      return;
    }
  }
  Stop();
}

void Server::Shell::Stop() {
  lifecycle_.Stop([this] {
    {
      const std::lock_guard lock(mu_);
      stopping_ = true;
    }
    changed_.notify_all();
    tender_.join();
    Release();
  });
  changed_.notify_all();
}

void Server::Shell::Tend() {
  std::unique_lock lock(mu_);
  while (!stopping_) {
    if (std::optional<absl::Status> end = Look()) {
      lock.unlock();
      lifecycle_.End(*std::move(end));
      changed_.notify_all();
      return;
    }
    changed_.wait_for(lock, absl::ToChronoNanoseconds(kPollInterval),
                      [this] { return stopping_; });
  }
}

// Returns the reason to end, if there is one.
std::optional<absl::Status> Server::Shell::Look() {
  if (dispatcher_ != nullptr && !dispatcher_->running()) {
    return dispatcher_->Join();
  }
  if (!has_worker()) return std::nullopt;
  if (worker_ != nullptr && !worker_->running()) return worker_->Join();
  const bool registered = worker_ != nullptr && worker_->registered();
  if (role_ == TaskRole::kWorker) {
    // A registered worker has an address, so that is published before `ready_`.
    absl::Status status = FollowWorkerAddress();
    if (status.ok() && !draining_) status = FollowDispatcher();
    if (!status.ok()) {
      LogError("{}", ErrorText(status));  // services log their own errors
      return status;
    }
  }
  if (!ready_ && registered && worker_->registered()) {
    ready_ = true;
    changed_.notify_all();
  }
  return std::nullopt;
}

absl::Status Server::Shell::FollowDispatcher() {
  if (const auto* at = std::get_if<std::string>(&dispatcher_place_)) {
    return FollowTo(*at);
  }
  const auto& task = std::get<DispatcherTask>(dispatcher_place_);
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> published,
                      board_.Find(task.job, task.index));
  if (!published.has_value()) {
    return worker_ == nullptr ? AwaitDispatcher() : absl::OkStatus();
  }
  return FollowTo(*published);
}

absl::Status Server::Shell::FollowTo(const std::string& dispatcher) {
  if (dispatcher == followed_) return absl::OkStatus();
  if (!followed_.empty()) {
    LogInfo("the dispatcher is at {} now, no more at {}", dispatcher,
            followed_);
  }
  return BeginWorker(dispatcher);
}

// Checks that `def`, if it names a task, names this server's own.
absl::Status Server::Shell::CheckIsOwn(const ServerDef& def) const {
  const bool same =
      (def.job_name.empty() || def.job_name == def_.job_name) &&
      (!def.task_index.has_value() || def.task_index == def_.task_index);
  if (!same) {
    return InvalidArgument(
        "this server is task {} of job \"{}\" permanently, and cannot become "
        "task "
        "{} of job \"{}\"",
        *def_.task_index, def_.job_name,
        def.task_index.value_or(*def_.task_index),
        def.job_name.empty() ? def_.job_name : def.job_name);
  }
  if (!def.protocol.empty() && def.protocol != def_.protocol) {
    return InvalidArgument("a server that speaks {} cannot go over to \"{}\"",
                           def_.protocol, def.protocol);
  }
  if (def.port != 0 && def.port != def_.port) {
    return InvalidArgument("a server of port {} cannot move to port {}",
                           def_.port, def.port);
  }
  return absl::OkStatus();
}

// The monitor thread applies the update at its next check.
absl::Status Server::Shell::Update(const ServerDef& def) {
  FM_RETURN_IF_ERROR(ClusterSpec::FromDef(def.cluster).status());
  const std::lock_guard lock(mu_);
  if (lifecycle_.ended()) {
    return FailedPrecondition("the server has ended, so no cluster is its own");
  }
  FM_RETURN_IF_ERROR(CheckIsOwn(def));
  ClusterDef cluster =
      WithTask(def.cluster, def_.job_name, *def_.task_index, OwnAddress(def_));
  if (role_ == TaskRole::kWorker && config_.worker.dispatcher.empty()) {
    const auto task = FindDispatcherTask(cluster);
    if (task.ok()) {
      FM_ASSIGN_OR_RETURN(dispatcher_place_, PlaceOf(*task));
    } else if (!absl::IsNotFound(task.status())) {
      return task.status();
    }
  }
  def_.cluster = std::move(cluster);
  return absl::OkStatus();
}

absl::Status Server::Shell::AwaitDispatcher() {
  const absl::Time now = SteadyNow();
  if (now - waits_since_ >= config_.worker.dispatcher_timeout) {
    return DeadlineExceeded(
        "no dispatcher published its address in '{}' for {}; is it running, "
        "and does it see the same folder?",
        config_.publish,
        absl::FormatDuration(config_.worker.dispatcher_timeout));
  }
  if (now >= next_log_) {
    LogWarning("waiting for a dispatcher to publish its address in '{}'",
               config_.publish);
    next_log_ = now + kLogInterval;
  }
  return absl::OkStatus();
}

absl::StatusOr<ClusterSpec> Server::Shell::Cluster() const {
  ClusterDef cluster = def().cluster;
  for (ClusterDef::Job& job : cluster.jobs) {
    for (auto& [index, address] : job.tasks) {
      if (SplitTaskAddress(address).port != 0) continue;
      FM_ASSIGN_OR_RETURN(const std::optional<std::string> published,
                          board_.Find(job.name, index));
      if (published.has_value()) address = WithoutScheme(*published);
    }
  }
  return ClusterSpec::FromDef(cluster);
}

// The error that a task without a service returns to readers and workers.
absl::Status Server::Shell::Refused() const {
  const ServerDef own = def();
  const auto task = FindDispatcherTask(own.cluster);
  return InvalidArgument("task {} of job \"{}\" serves no data; {}",
                         *own.task_index, own.job_name,
                         task.ok() ? "the dispatcher is " + task->address
                                   : "its cluster has no dispatcher");
}

std::string Server::Shell::StatusJson() const {
  const ServerDef own = def();
  nlohmann::ordered_json out;
  out["job"] = own.job_name;
  out["task"] = *own.task_index;
  out["target"] = target();
  auto& tasks = out["tasks"] = nlohmann::ordered_json::array();
  const auto cluster = Cluster();
  const ClusterDef shown = cluster.ok() ? cluster->AsClusterDef() : own.cluster;
  for (const ClusterDef::Job& job : shown.jobs) {
    for (const auto& [index, address] : job.tasks) {
      tasks.push_back(
          {{"job", job.name}, {"index", index}, {"address", address}});
    }
  }
  // A job's name may be any bytes; invalid UTF-8 prints as U+FFFD.
  return out.dump(-1, ' ', false,
                  nlohmann::ordered_json::error_handler_t::replace);
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const ServerDef& def,
                                                       ServerOptions options) {
  FM_ASSIGN_OR_RETURN(ServerDef full, CompleteServerDef(def, options.task));
  auto shell =
      std::make_shared<Shell>(std::move(full), std::move(options.config));
  FM_RETURN_IF_ERROR(shell->Check());
  std::unique_ptr<Server> server(new Server(std::move(shell)));
  if (options.start) FM_RETURN_IF_ERROR(server->Start());
  return server;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(
    const ClusterDef& cluster, ServerOptions options) {
  return Create(ServerDef{.cluster = cluster}, std::move(options));
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(
    const ClusterSpec& cluster, ServerOptions options) {
  return Create(cluster.AsClusterDef(), std::move(options));
}

absl::StatusOr<std::unique_ptr<Server>> Server::CreateLocalServer(
    ServerConfig config, bool start) {
  return Create(ClusterDef{.jobs = {{"local", {{0, "localhost:0"}}}}},
                ServerOptions{.config = std::move(config), .start = start});
}

Server::Server(std::shared_ptr<Shell> shell) : shell_(std::move(shell)) {}
Server::~Server() { Stop(); }
absl::Status Server::Start() { return shell_->Start(); }
absl::Status Server::WaitReady(absl::Duration timeout) {
  const std::shared_ptr<Shell> shell = shell_;
  return shell->WaitReady(timeout);
}
void Server::Drain(absl::Duration timeout) { shell_->Drain(timeout); }
void Server::Stop() { shell_->Stop(); }
absl::Status Server::Join() {
  const std::shared_ptr<Shell> shell = shell_;
  return shell->Join();
}
ServerDef Server::server_def() const { return shell_->def(); }
absl::StatusOr<ClusterSpec> Server::Cluster() const {
  return shell_->Cluster();
}
absl::Status Server::UpdateServerDef(const ServerDef& def) {
  return shell_->Update(def);
}
std::string Server::target() const { return shell_->target(); }
absl::StatusOr<std::string> Server::ExportState() const {
  FM_ASSIGN_OR_RETURN(const auto dispatcher, shell_->Dispatcher());
  return dispatcher->ExportState();
}
absl::StatusOr<std::string> Server::ExportVerdict(
    const std::string& job) const {
  FM_ASSIGN_OR_RETURN(const auto dispatcher, shell_->Dispatcher());
  return dispatcher->ExportVerdict(job);
}
absl::StatusOr<std::string> Server::ExportEvents() const {
  FM_ASSIGN_OR_RETURN(const auto dispatcher, shell_->Dispatcher());
  return dispatcher->ExportEvents();
}
absl::Status Server::DrainWorker(const std::string& worker, bool drains) {
  FM_ASSIGN_OR_RETURN(const auto dispatcher, shell_->Dispatcher());
  return dispatcher->DrainWorker(worker, drains);
}
absl::Status Server::CancelJob(const std::string& job) {
  FM_ASSIGN_OR_RETURN(const auto dispatcher, shell_->Dispatcher());
  return dispatcher->CancelJob(job);
}
absl::StatusOr<ExportedRun> Server::ExportRun(const std::string& job) const {
  FM_ASSIGN_OR_RETURN(const auto dispatcher, shell_->Dispatcher());
  return dispatcher->ExportRun(job);
}
absl::StatusOr<DispatcherSnapshot> Server::ExportSnapshot() const {
  FM_ASSIGN_OR_RETURN(const auto dispatcher, shell_->Dispatcher());
  return dispatcher->ExportSnapshot();
}
absl::StatusOr<WorkerStatus> Server::ExportWorker() const {
  FM_ASSIGN_OR_RETURN(const auto worker, shell_->Worker());
  return worker->ExportStatus();
}

absl::StatusOr<std::string> FindDispatcher(const ClusterSpec& cluster) {
  FM_ASSIGN_OR_RETURN(const DispatcherTask task,
                      FindDispatcherTask(cluster.AsClusterDef()));
  if (SplitTaskAddress(task.address).port != 0) return task.address;
  return InvalidArgument(
      "the dispatcher's address '{}' has no port, so only tasks of the cluster "
      "can find it; give it a port",
      task.address);
}

}  // namespace feedmill

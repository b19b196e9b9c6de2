#include "python/src/cluster.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/status.h"
#include "feedmill/resolver.h"
#include "python/src/gil.h"
#include "python/src/process.h"
#include "python/src/servers.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

absl::StatusOr<std::unique_ptr<ClusterResolver>> MakeResolver(
    const std::string& uri) {
  FM_ASSIGN_OR_RETURN(const ResolverRegistry resolvers, AllResolvers());
  return resolvers.Make(uri, HostContext());
}

// Resolves a URI to a cluster and this process's task in it, as JSON.
absl::StatusOr<std::string> Resolve(const std::string& uri) {
  FM_ASSIGN_OR_RETURN(const auto resolver, MakeResolver(uri));
  FM_ASSIGN_OR_RETURN(const ClusterView view, resolver->Resolve());
  nlohmann::ordered_json out;
  out["cluster"] = nlohmann::ordered_json::parse(view.spec.ToJson());
  out["task_type"] = nullptr;
  out["task_id"] = nullptr;
  if (view.task_type) out["task_type"] = *view.task_type;
  if (view.task_id) out["task_id"] = *view.task_id;
  out["rpc_layer"] = view.rpc_layer;
  out["environment"] = view.environment;
  return out.dump();
}

absl::StatusOr<std::string> DispatcherOf(const std::string& uri) {
  FM_ASSIGN_OR_RETURN(const auto resolver, MakeResolver(uri));
  FM_ASSIGN_OR_RETURN(const ClusterSpec spec, resolver->Spec());
  return FindDispatcher(spec);
}

absl::StatusOr<std::string> ResolveMaster(const std::string& uri,
                                          TaskRequest request) {
  FM_ASSIGN_OR_RETURN(const auto resolver, MakeResolver(uri));
  return resolver->Master(request);
}

absl::StatusOr<AcceleratorCounts> ResolveAccelerators(const std::string& uri,
                                                      TaskRequest request) {
  FM_ASSIGN_OR_RETURN(const auto resolver, MakeResolver(uri));
  return resolver->NumAccelerators(request);
}

absl::StatusOr<std::unique_ptr<Server>> MakeServer(std::string_view cluster,
                                                   ServerTask task,
                                                   uint16_t port,
                                                   ServerConfig config) {
  FM_ASSIGN_OR_RETURN(const ClusterSpec spec, ClusterSpec::FromJson(cluster));
  ServerDef def;
  def.cluster = spec.AsClusterDef();
  def.port = port;
  return Server::Create(
      def,
      {.task = std::move(task), .config = std::move(config), .start = false});
}

}  // namespace

PythonTask::PythonTask(std::string_view cluster,
                       std::optional<std::string> job_name,
                       std::optional<int64_t> task_index,
                       std::optional<std::string> protocol, uint16_t port,
                       ServerConfig config)
    : server_(Take(MakeServer(cluster,
                              {.job_name = std::move(job_name),
                               .task_index = task_index,
                               .protocol = std::move(protocol)},
                              port, std::move(config)))) {}

PythonTask::~PythonTask() {
  // Its threads exist only in the parent process and cannot be joined here.
  if (process_.foreign()) {
    static_cast<void>(server_.release());
    if (joiner_.joinable()) joiner_.detach();
    return;
  }
  const GilRelease release;
  server_->Stop();
  if (joiner_.joinable()) joiner_.join();
  server_.reset();
}

Server& PythonTask::server() const {
  process_.Check("server");
  return *server_;
}

void PythonTask::Start() {
  Server& started = server();
  Check(WithoutGil([&] { return started.Start(); }));
}

void PythonTask::Stop() {
  Server& stopped = server();
  WithoutGil([&] { stopped.Stop(); });
}

void PythonTask::Join() {
  Server& joined = server();
  if (joiner_.joinable() && ended_) joiner_.join();
  if (!joiner_.joinable()) {
    ended_ = false;
    joiner_ = std::thread([this, &joined] {
      end_ = joined.Join();
      ended_ = true;
    });
  }
  AwaitEnd([this] { return !ended_; });
  Check(end_);
}

std::string PythonTask::Definition() const {
  const ServerDef def = server().server_def();
  nlohmann::ordered_json out;
  out["cluster"] = nlohmann::ordered_json::parse(
      Take(ClusterSpec::FromDef(def.cluster)).ToJson());
  out["job_name"] = def.job_name;
  out["task_index"] = def.task_index.value_or(0);
  out["protocol"] = def.protocol;
  out["port"] = def.port;
  return out.dump();
}

void BindCluster(nb::module_& m) {
  m.def(
      "resolve",
      [](const std::string& uri) {
        return Take(WithoutGil([&] { return Resolve(uri); }));
      },
      "uri"_a);
  m.def(
      "find_dispatcher",
      [](const std::string& uri) {
        return Take(WithoutGil([&] { return DispatcherOf(uri); }));
      },
      "uri"_a);
  m.def(
      "resolve_master",
      [](const std::string& uri, std::optional<std::string> task_type,
         std::optional<int64_t> task_id, std::optional<std::string> rpc_layer) {
        const TaskRequest request{std::move(task_type), task_id,
                                  std::move(rpc_layer)};
        return Take(WithoutGil([&] { return ResolveMaster(uri, request); }));
      },
      "uri"_a, "task_type"_a.none(), "task_id"_a.none(), "rpc_layer"_a.none());
  m.def(
      "resolve_accelerators",
      [](const std::string& uri, std::optional<std::string> task_type,
         std::optional<int64_t> task_id) {
        const TaskRequest request{std::move(task_type), task_id, std::nullopt};
        return Take(
            WithoutGil([&] { return ResolveAccelerators(uri, request); }));
      },
      "uri"_a, "task_type"_a.none(), "task_id"_a.none());
  nb::class_<PythonTask>(m, "Task")
      .def(
          "__init__",
          [](PythonTask* self, std::string_view cluster,
             std::optional<std::string> job_name,
             std::optional<int64_t> task_index,
             std::optional<std::string> protocol, uint16_t port,
             std::string keys, bool insecure_bind) {
            ServerConfig config;
            config.endpoint.security.keys = std::move(keys);
            config.endpoint.insecure_bind = insecure_bind;
            config.listens_without_dispatcher = true;
            new (self) PythonTask(cluster, std::move(job_name), task_index,
                                  std::move(protocol), port, std::move(config));
          },
          nb::kw_only(), "cluster"_a, "job_name"_a.none(),
          "task_index"_a.none(), "protocol"_a.none(), "port"_a, "keys"_a,
          "insecure_bind"_a)
      .def("start", &PythonTask::Start)
      .def("stop", &PythonTask::Stop)
      .def("join", &PythonTask::Join)
      .def("definition", &PythonTask::Definition)
      .def_prop_ro("target", &PythonTask::target);
}

}  // namespace feedmill::python

#ifndef FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/net/security.h"
#include "feedmill/dispatcher.h"
#include "feedmill/worker.h"
#include "monitoring/monitor.h"
#include "server/address_file.h"
#include "tools/command/flags.h"

namespace feedmill {

// Flags of the HTTP endpoint for operators.
struct HttpFlags {
  std::string at;  // HOST:PORT; "": no endpoint
  std::string ready_file;
  std::string token_file;
  bool open = false;

  // Declares the flags of a process that answers `paths`.
  void Declare(FlagSet& flags, const std::string& paths);
  // Declares --http-token-file, for servers.
  void DeclareToken(FlagSet& flags);
};

// Runs the HTTP endpoint until it is destroyed. Start it after signals are
// blocked, so that its threads do not receive them.
class HttpEndpoint {
 public:
  HttpEndpoint(const HttpFlags& flags, MonitorSources sources);

  absl::Status Start();
  // Ends all requests, and frees the port.
  void Stop() { monitor_.reset(); }

 private:
  const HttpFlags flags_;
  AddressFile ready_;
  MonitorSources sources_;
  std::optional<Monitor> monitor_;  // from Start on
};

// A cluster, and which of its jobs are the service.
struct ClusterFlags {
  std::string uri;
  std::string jobs;

  // `help`: of --cluster.
  void Declare(FlagSet& flags, const std::string& help);
  bool given() const { return !uri.empty(); }
  // The URI with the parameter "roles" for --jobs.
  std::string Uri() const;
  // The role's name for a job that is named as the cluster names it.
  absl::StatusOr<std::string> RenamedJob(const std::string& job) const;
};

// Flags of the log of a process.
struct LogFlags {
  std::string format = "text";
  std::string level = "info";
  std::string name;  // "": the role

  void Declare(FlagSet& flags);
  // Configures logging; `role` appears in each line.
  absl::Status SetUp(const std::string& role) const;
};

// The flags of every long-running command.
struct ServerFlags {
  std::string host = "127.0.0.1";
  uint64_t port = 0;
  std::string ready_file;
  std::string cluster_id;
  SecurityConfig security;
  bool insecure_bind = false;
  LogFlags log;
  HttpFlags http;

  // `serves`: the peers of the port, for --help, e.g. "clients and workers".
  void Declare(FlagSet& flags, const std::string& serves);
  // Without the port, for a server whose cluster gives it.
  void DeclareWithoutPort(FlagSet& flags, const std::string& serves);
  // Sets all fields of an endpoint except `advertise`.
  void Set(EndpointConfig& endpoint) const;
};

// Flags of each service, shared by every command that runs it.
void DeclareDispatcherFlags(FlagSet& flags, DispatcherConfig& config);
struct WorkerOptions {
  WorkerConfig config;
  uint64_t threads = 0;
  std::string transport = "auto";
  uint64_t shared_memory = 0;  // 0: memory_bytes
  // Less than the 10 s that service managers usually allow. Work that is not
  // finished by then is computed by another worker.
  absl::Duration drain_timeout = absl::Seconds(8);

  void Declare(FlagSet& flags);
  WorkerConfig Config() const;  // with all flags applied
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_

#ifndef FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/net/security.h"
#include "feedmill/dispatcher.h"
#include "feedmill/worker.h"
#include "tools/command/flags.h"
#include "tools/command/http_flags.h"

namespace feedmill {

// The flags that every long-running command has.
struct ServerFlags {
  std::string host = "127.0.0.1";
  uint64_t port = 0;
  std::string ready_file;
  std::string cluster_id;
  SecurityConfig security;
  bool insecure_bind = false;
  std::string log_format = "text";
  std::string log_level = "info";
  std::string log_name;  // "": the role
  HttpFlags http;

  // `serves`: what listens there, for --help: "clients and workers".
  void Declare(FlagSet& flags, const std::string& serves);
  // The same without the port, for a server whose cluster says it.
  void DeclareWithoutPort(FlagSet& flags, const std::string& serves);
  // Sets what the flags say of an endpoint: all of it but `advertise`.
  void Set(EndpointConfig& endpoint) const;
  // Logging as the flags say; `role` stands in each line.
  absl::Status SetUpLogging(const std::string& role) const;
};

// The options of each service that every command which runs it has.
void DeclareDispatcherFlags(FlagSet& flags, DispatcherConfig& config);
struct WorkerOptions {
  WorkerConfig config;
  uint64_t threads = 0;
  std::string transport = "auto";
  uint64_t shared_memory = 0;  // 0: as much as memory_bytes
  // Below the ten seconds that service managers commonly give: what is not
  // done by then is computed elsewhere.
  absl::Duration drain_timeout = absl::Seconds(8);

  void Declare(FlagSet& flags);
  WorkerConfig Config() const;  // with all of the flags
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_

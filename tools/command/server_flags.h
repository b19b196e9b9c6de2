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

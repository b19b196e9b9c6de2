#ifndef FEEDMILL_TOOLS_COMMAND_HTTP_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_HTTP_FLAGS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
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

 private:
  const HttpFlags flags_;
  AddressFile ready_;
  MonitorSources sources_;
  std::optional<Monitor> monitor_;  // from Start on
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_HTTP_FLAGS_H_

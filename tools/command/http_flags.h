#ifndef FEEDMILL_TOOLS_COMMAND_HTTP_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_HTTP_FLAGS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "monitoring/monitor.h"
#include "server/address_file.h"
#include "tools/command/flags.h"

namespace feedmill {

// Where a server answers operators over HTTP.
struct HttpFlags {
  std::string at;  // HOST:PORT; "": nowhere
  std::string ready_file;
  bool open = false;

  void Declare(FlagSet& flags);
};

// Serves what the flags say until it is destroyed. Begin it when signals are
// blocked: its threads must not get them.
class HttpEndpoint {
 public:
  HttpEndpoint(const HttpFlags& flags, MonitorSources sources);

  absl::Status Start();

 private:
  const HttpFlags flags_;
  AddressFile ready_;
  Monitor monitor_;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_HTTP_FLAGS_H_

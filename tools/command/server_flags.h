#ifndef FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/command/flags.h"

namespace feedmill {

// The flags that every long-running command has.
struct ServerFlags {
  std::string host = "127.0.0.1";
  uint64_t port = 0;
  std::string ready_file;
  std::string cluster_id;
  std::string log_format = "text";
  std::string log_level = "info";

  // `serves`: what listens there, for --help: "clients and workers".
  void Declare(FlagSet& flags, const std::string& serves);
  // Logging as the flags say; `role` stands in each line.
  absl::Status SetUpLogging(const std::string& role) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SERVER_FLAGS_H_

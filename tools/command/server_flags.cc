#include "tools/command/server_flags.h"

#include "core/base/status.h"
#include "core/net/log.h"

namespace feedmill {

void ServerFlags::Declare(FlagSet& flags, const std::string& serves) {
  flags.Text("--host", "HOST",
             "Name or address of this machine to listen on for " + serves +
                 "; 0.0.0.0 is all of them",
             &host);
  flags.Count("--port", 0, 65535, "Port to listen on; 0 is any free one",
              &port);
  flags.Text("--ready-file", "FILE",
             "Appears, holding tcp://host:port, when all is ready; goes at "
             "exit",
             &ready_file);
  flags.Text("--cluster-id", "NAME", "Refuse peers that name another cluster",
             &cluster_id);
  flags.OneOf("--log-format", {"text", "json"}, "How log lines look on stderr",
              &log_format);
  flags.OneOf("--log-level", {"debug", "info", "warning", "error", "off"},
              "The least that is logged", &log_level);
}

absl::Status ServerFlags::SetUpLogging(const std::string& role) const {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  FM_RETURN_IF_ERROR(ParseLogLevel(log_level, level));
  FM_RETURN_IF_ERROR(ParseLogFormat(log_format, format));
  SetUpLog(level, format, role);
  return absl::OkStatus();
}

}  // namespace feedmill

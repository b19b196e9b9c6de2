#include "tools/command/http_flags.h"

#include <utility>

#include "core/base/status.h"
#include "core/net/log.h"

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
  monitor_.emplace(std::move(sources_), std::move(gate));
  FM_RETURN_IF_ERROR(
      Annotate(monitor_->Start(flags_.at, flags_.open), "--http"));
  LogInfo("{} at {}{}", has_page ? "page and metrics" : "metrics",
          monitor_->address(), has_page ? "/" : "/metrics");
  return ready_.Write(monitor_->address());
}

}  // namespace feedmill

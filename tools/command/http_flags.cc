#include "tools/command/http_flags.h"

#include <utility>

#include "core/base/status.h"
#include "core/net/log.h"

namespace feedmill {

void HttpFlags::Declare(FlagSet& flags) {
  flags.Text("--http", "HOST:PORT",
             "Address at which to answer /metrics (Prometheus), /healthz, "
             "/readyz, and a dispatcher /api/status and "
             "/api/jobs/NAME/verdict; port 0 is any free one; default: none",
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

HttpEndpoint::HttpEndpoint(const HttpFlags& flags, MonitorSources sources)
    : flags_(flags),
      ready_(flags.ready_file, "--http-ready-file"),
      monitor_(std::move(sources)) {}

absl::Status HttpEndpoint::Start() {
  if (flags_.at.empty()) {
    if (flags_.ready_file.empty()) return absl::OkStatus();
    return InvalidArgument("--http-ready-file needs --http HOST:PORT");
  }
  FM_RETURN_IF_ERROR(ready_.Prepare());
  FM_RETURN_IF_ERROR(monitor_.Start(flags_.at, flags_.open));
  LogInfo("metrics at {}/metrics", monitor_.address());
  return ready_.Write(monitor_.address());
}

}  // namespace feedmill

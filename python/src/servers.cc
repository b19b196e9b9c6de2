#include "python/src/servers.h"

#include <chrono>
#include <thread>

namespace feedmill::python {

void AwaitEnd(const std::function<bool()>& running) {
  for (;;) {
    {
      const GilRelease release;
      if (!running()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (SignalRaised()) throw nanobind::python_error();
  }
}

PythonMetricsServer::PythonMetricsServer(const MetricsServerConfig& config)
    : server_(Take(WithoutGil([&] { return MetricsServer::Start(config); }))),
      url_(server_->url()) {}

PythonMetricsServer::~PythonMetricsServer() {
  // Its threads exist only in the parent process and cannot be joined here.
  if (process_.foreign()) {
    static_cast<void>(server_.release());
    return;
  }
  Stop();
}

void PythonMetricsServer::Stop() {
  process_.Check("metrics server");
  const GilRelease release;
  server_.reset();
}

}  // namespace feedmill::python

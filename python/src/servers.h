#ifndef FEEDMILL_PYTHON_SRC_SERVERS_H_
#define FEEDMILL_PYTHON_SRC_SERVERS_H_

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "feedmill/status.h"
#include "python/src/gil.h"
#include "python/src/process.h"
#include "python/src/status.h"

namespace feedmill::python {

// Waits until `running` returns false. Checks for signals every 50 ms.
void AwaitEnd(const std::function<bool()>& running);

// A DispatchServer or a WorkerServer for Python. Every call releases the GIL. A
// forked child of its process cannot use it.
template <class Server>
class PythonServer {
 public:
  template <class Config>
  PythonServer(const char* name, Config config)
      : name_(name), server_(std::make_unique<Server>(std::move(config))) {}
  ~PythonServer() {
    // Its threads exist only in the parent process and cannot be joined here.
    if (process_.foreign()) {
      static_cast<void>(server_.release());
      return;
    }
    const GilRelease release;
    server_.reset();
  }
  PythonServer(const PythonServer&) = delete;
  PythonServer& operator=(const PythonServer&) = delete;

  Server& server() const {
    process_.Check(name_);
    return *server_;
  }
  void Start() {
    Server& started = server();
    Check(Interruptible([&] { return started.Start(); }));
  }
  void Stop() {
    Server& stopped = server();
    WithoutGil([&] { stopped.Stop(); });
  }
  // Waits for the end of the server. Ctrl-C ends the wait, not the server.
  void Join() {
    Server& joined = server();
    AwaitEnd([&] { return joined.running(); });
    Check(WithoutGil([&] { return joined.Join(); }));
  }
  bool running() const { return server().running(); }
  std::string target() const { return server().target(); }

 private:
  const char* const name_;
  const ProcessMark process_;
  std::unique_ptr<Server> server_;
};

// A MetricsServer for Python. A forked child of its process cannot use it.
class PythonMetricsServer {
 public:
  explicit PythonMetricsServer(const MetricsServerConfig& config);
  ~PythonMetricsServer();
  PythonMetricsServer(const PythonMetricsServer&) = delete;
  PythonMetricsServer& operator=(const PythonMetricsServer&) = delete;

  const std::string& url() const { return url_; }
  void Stop();

 private:
  const ProcessMark process_;
  std::unique_ptr<MetricsServer> server_;  // null: stopped
  const std::string url_;
};

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_SERVERS_H_

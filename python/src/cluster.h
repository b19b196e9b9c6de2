#ifndef FEEDMILL_PYTHON_SRC_CLUSTER_H_
#define FEEDMILL_PYTHON_SRC_CLUSTER_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "feedmill/server.h"
#include "python/src/process.h"

namespace feedmill::python {

// One task of a cluster (server/server.h) for Python. Every call releases the
// GIL, and Ctrl-C ends a Join. A forked child of its process cannot use it.
class PythonTask {
 public:
  // `cluster` is JSON, as ClusterSpec::FromJson reads it.
  PythonTask(std::string_view cluster, std::optional<std::string> job_name,
             std::optional<int64_t> task_index,
             std::optional<std::string> protocol, uint16_t port,
             ServerConfig config);
  ~PythonTask();
  PythonTask(const PythonTask&) = delete;
  PythonTask& operator=(const PythonTask&) = delete;

  void Start();
  void Stop();
  void Join();
  std::string target() const { return server().target(); }
  // JSON: cluster, job_name, task_index, protocol, port.
  std::string Definition() const;

 private:
  Server& server() const;

  const ProcessMark process_;
  std::unique_ptr<Server> server_;
  std::thread joiner_;  // waits for the end; started by the first Join
  std::atomic<bool> ended_ = false;
  absl::Status end_;  // result of the server's Join; set before ended_
};

void BindCluster(nanobind::module_& m);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_CLUSTER_H_

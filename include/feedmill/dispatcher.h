#ifndef FEEDMILL_DISPATCHER_H_
#define FEEDMILL_DISPATCHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/endpoint.h"

// Private to the library.
namespace feedmill {
class FunctionRegistry;
struct DispatcherSnapshot;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Bounds and pace of the number of workers that the dispatcher wants
// (docs/autoscaling.md). The number is computed always; a program, a command or
// an orchestrator that reads it starts and stops workers.
struct ScaleSettings {
  uint32_t workers_min = 1;
  uint32_t workers_max = 1'000;  // at least 1 and workers_min
  // Shortest time between two decisions, and the time that each measures.
  absl::Duration interval = absl::Seconds(10);
  // Time for which fewer workers must suffice before fewer are wanted.
  absl::Duration down_after = absl::Minutes(1);
  // Time in which wanted workers must appear. After it, the number is computed
  // again from the present workers.
  absl::Duration start_time = absl::Minutes(2);
  // Part of the readers' time that they may wait for elements, 0 to 1.
  double wait_target = 0.05;
};

// Timeouts and limits. docs/design.md, Delivery, explains the defaults.
struct DispatcherSettings {
  absl::Duration heartbeat_interval = absl::Milliseconds(200);  // the least
  absl::Duration worker_timeout = absl::Seconds(1);
  absl::Duration park_after = absl::Seconds(1);
  absl::Duration client_timeout = absl::Minutes(5);
  absl::Duration sharer_timeout = absl::Seconds(30);
  absl::Duration straggler_after = absl::Seconds(1);
  absl::Duration restart_grace = absl::Milliseconds(500);
  // A job whose Python functions no worker can run is refused if no worker
  // joined for this time.
  absl::Duration python_grace = absl::Milliseconds(500);
  absl::Duration split_time = absl::Milliseconds(100);
  uint64_t split_bytes = uint64_t{16} << 20;
  uint32_t window_min = 3;    // splits ahead of what a consumer has taken
  uint32_t attempts_max = 3;  // failed attempts before the run fails
  // Workers that die while they run one position and nothing else, before that
  // position is to blame and the run fails.
  uint32_t deaths_alone_max = 2;
  // Jobs, and the bytes of their definitions and lists of files.
  uint32_t jobs_max = 10'000;
  uint64_t job_bytes_max = uint64_t{4} << 30;
  uint32_t sessions_max = 10'000;  // of all jobs
  uint32_t workers_max = 10'000;
  // Datasets with an id (RegisterDataset), and the bytes of all of them.
  uint32_t datasets_max = 1'000;
  uint64_t dataset_bytes_max = uint64_t{64} << 20;
  ScaleSettings scale{};
};

struct DispatcherConfig {
  // The address it listens on. With keys, workers, clients and operators need
  // one.
  EndpointConfig endpoint{};
  DispatcherSettings settings{};
  // Folder of the journal, which keeps the state through restarts; created if
  // it is missing, used by one dispatcher at a time. May be one of a store with
  // conditional puts, "s3://bucket/folder", or "postgresql://host/database".
  // Empty: state is in memory only.
  std::string work_dir{};
  // Start waits until no other dispatcher has the work_dir: of any machine, or
  // of this one if it is a folder.
  bool standby = false;
  // Asked at least once a second while Start waits. True: Start returns
  // Cancelled.
  std::function<bool()> stop_waiting{};
  // Refuse to start without a work_dir.
  bool fault_tolerant_mode = false;
  // Bytes of messages that wait to be sent, of all peers together: relayed
  // frames (Transport::kRelay) and answers. A peer that reads nothing has at
  // most half of them; further messages to it are dropped.
  uint64_t relay_bytes = uint64_t{256} << 20;
  // Called when another number of workers is wanted. Runs on the dispatcher's
  // thread: it must not wait.
  std::function<void(uint64_t workers)> on_workers_wanted{};
  // Functions that expressions may call, of LoadFunctions (expr.h). Null:
  // the built-in functions and the plugins of FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
};

// A run of a job: all that it takes to make its batches again.
struct ExportedRun {
  std::string graph;  // the pipeline, as JSON
  uint64_t seed = 0;
  uint64_t epoch = 0;
};

// A dispatcher: plans jobs and leases their splits to workers.
//
//   DispatchServer dispatcher({.endpoint = {.port = 5050}});
//   FM_RETURN_IF_ERROR(dispatcher.Start());
//   std::puts(dispatcher.target().c_str());  // tcp://127.0.0.1:5050
//   return dispatcher.Join();                // until someone calls Stop
//
// The destructor stops it, also while other threads wait in Join.
// Thread-safety: every method from any thread, in any state.
// States: new → running → stopped.
class DispatchServer {
 public:
  explicit DispatchServer(DispatcherConfig config);
  ~DispatchServer();  // stops
  DispatchServer(const DispatchServer&) = delete;
  DispatchServer& operator=(const DispatchServer&) = delete;

  // Binds and serves; OK if it already does.
  //   InvalidArgument     the host, cluster or work_dir is wrong
  //   Cancelled           stop_waiting() returned true
  //   Unavailable         the port is taken, or the host is not this machine's
  //   FailedPrecondition  after Stop; another dispatcher has the work_dir
  //   DataLoss            the journal in the work_dir is damaged
  absl::Status Start();
  // Stops at once. Harmless to repeat and before Start.
  void Stop();
  // Waits until the server has stopped: OK after Stop, else why it ended (the
  // journal could not be written).
  // FailedPrecondition before Start.
  absl::Status Join();

  // True after Start, until it is stopped or ends by itself.
  bool running() const;
  // "tcp://host:port" as advertised; "" before Start.
  std::string target() const;
  // Returns its state, {jobs, workers, totals}: the JSON of `feedmill status`.
  // FailedPrecondition unless it runs, DeadlineExceeded after `timeout`.
  absl::StatusOr<std::string> ExportState(
      absl::Duration timeout = absl::Seconds(5)) const;
  // Returns as JSON what bounds the rate of a job now (docs/monitoring.md).
  // NotFound if there is no such job; other errors as of ExportState.
  absl::StatusOr<std::string> ExportVerdict(
      const std::string& job, absl::Duration timeout = absl::Seconds(5)) const;
  // Returns as JSON the last events, at most 1,000: workers that were lost,
  // jobs that began, attempts that failed. Errors as of ExportState.
  absl::StatusOr<std::string> ExportEvents(
      absl::Duration timeout = absl::Seconds(5)) const;
  // With `drains`, gives the worker at that address ("tcp://host:port") no new
  // splits, until a call without. A restart of the worker or of this server
  // ends that. NotFound if there is no such worker; other errors as of
  // ExportState.
  absl::Status DrainWorker(const std::string& worker, bool drains,
                           absl::Duration timeout = absl::Seconds(5));
  // Ends the run of a job; its readers get the error Cancelled. NotFound if
  // there is no such job, FailedPrecondition if it is over; other errors as of
  // ExportState.
  absl::Status CancelJob(const std::string& job,
                         absl::Duration timeout = absl::Seconds(5));
  // Private to the library: the present run of a job. NotFound if there is no
  // such job; other errors as of ExportState.
  absl::StatusOr<ExportedRun> ExportRun(
      const std::string& job, absl::Duration timeout = absl::Seconds(5)) const;
  // Private to the library: the values of its metrics.
  absl::StatusOr<DispatcherSnapshot> ExportSnapshot(
      absl::Duration timeout = absl::Seconds(5)) const;

 private:
  class Shell;
  const std::shared_ptr<Shell> shell_;  // joiners hold it, too
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_DISPATCHER_H_

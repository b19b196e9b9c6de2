#ifndef FEEDMILL_WORKER_STAGE_RUNNER_H_
#define FEEDMILL_WORKER_STAGE_RUNNER_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/byte_budget.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/piece.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/pipeline/executor.h"
#include "core/pipeline/input_service.h"
#include "core/pipeline/stream_threads.h"
#include "core/wire/message.h"
#include "feedmill/element.h"
#include "worker/worker_agent.h"

namespace feedmill {

class WorkerStage;

// The result of a ComputeRequest.
struct Computed {
  TaskId task;
  PlanId plan;
  absl::StatusOr<Piece> piece;
  TaskCost cost;  // including packing
  // The codec, the packed parts and the packing time, if packing was requested.
  LinkCompression codec = LinkCompression::kNone;
  std::shared_ptr<const PackedParts> packed{};
  absl::Duration packing{};
  StepCosts costs{};                 // of its steps, if requested
  std::optional<TaskTimes> times{};  // if requested
};

// The result of StageRunner::Define.
struct Defined {
  PlanId plan;
  absl::Status status;
  PlanTraits traits{};
  std::vector<std::string> places{};  // their names, by StepCost::place
};

// Runs all slow work of a worker on the threads of an Executor: compiling
// plans, finding files, running stages, packing results.
//
// Thread: one (the reactor's), except MakeAtOnce. Results are passed to `post`,
// which must run them on that thread later.
class StageRunner {
 public:
  // Callbacks for results.
  struct Results {
    std::function<void(Computed)> computed;
    std::function<void(Defined)> defined;
    std::function<void(ManifestResult)> resolved;
  };

  struct Limits {
    uint64_t element_bytes_max = kElementBytesMax;  // see WorkerConfig
    // For elements of streamed inputs that are made ahead (StreamThreads).
    uint64_t stream_bytes = uint64_t{64} << 20;
  };

  // Returns the service of inputs for a pipeline; null: there is none.
  using Services =
      std::function<std::shared_ptr<InputService>(const Graph& graph)>;

  StageRunner(int threads, std::shared_ptr<const FunctionRegistry> registry,
              std::function<void(std::function<void()>)> post, Results results,
              Services services, Limits limits);
  // Stops running work, and waits for its end; drops queued work.
  ~StageRunner();

  int threads() const { return executor_.threads(); }

  void Define(PlanDefinition definition);
  void Forget(const PlanId& plan);
  // See WorkerEffects::rest.
  void Rest(const PlanId& plan);
  // Computes a piece. The result is an error if the plan was not defined
  // successfully. `blocks`: allocator of large columns; null: malloc. `codec`:
  // for packing the piece's parts; never kAuto.
  void Compute(ComputeRequest request, std::shared_ptr<BlockSource> blocks,
               LinkCompression codec);
  // Ends the task soon: its result is Cancelled, unless it is made already.
  void StopTask(TaskId task);
  void Resolve(ManifestRequest request);
  void StopResolving(const std::string& graph_fingerprint);
  // Runs the `at_once` requests on the calling thread, which must not be inside
  // an iteration of the reactor. Thread: one, always the same.
  void MakeAtOnce();
  // Call in each iteration: while MakeAtOnce is busy, passes queued requests to
  // other threads.
  void SubmitQueued();

 private:
  struct CompiledStage;
  using Work = std::function<void(int thread)>;

  // Runs the request's part of the stage. Sets `beside` as in TaskCost. Throws
  // nothing.
  absl::StatusOr<Piece> Run(CompiledStage& compiled,
                            const ComputeRequest& request,
                            const std::shared_ptr<BlockSource>& blocks,
                            int thread, bool& beside) const;
  void Submit(Work work);
  void SubmitBeside(Work work);
  // Called when work ends: submits queued work.
  void Refill();

  const std::shared_ptr<const FunctionRegistry> registry_;
  const std::function<void(std::function<void()>)> post_;
  const Results results_;
  const Services services_;
  const Limits limits_;
  const std::shared_ptr<StreamThreads> streams_;
  std::map<PlanId, std::shared_ptr<CompiledStage>> stages_;
  // Tasks, and searches for files by fingerprint, that have no result yet;
  // true: it is to end.
  using Stop = std::shared_ptr<std::atomic<bool>>;
  std::map<TaskId, Stop> stops_;
  std::map<std::string, Stop> resolving_;
  // Used when the executor's queue is full; the agent bounds its requests.
  std::deque<Work> waiting_;
  std::mutex at_once_mu_;
  std::deque<Work> at_once_;  // guarded by at_once_mu_
  bool making_ = false;       // guarded by at_once_mu_
  // Last members: they end before what their work uses.
  Executor executor_;
  std::optional<Executor> beside_;  // made when the first task needs it
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_STAGE_RUNNER_H_

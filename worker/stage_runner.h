#ifndef FEEDMILL_WORKER_STAGE_RUNNER_H_
#define FEEDMILL_WORKER_STAGE_RUNNER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/byte_budget.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/piece.h"
#include "core/dataset/function_registry.h"
#include "core/pipeline/executor.h"
#include "core/wire/message.h"
#include "feedmill/chunk.h"
#include "worker/worker_agent.h"

namespace feedmill {

class WorkerStage;

// What became of a ComputeRequest.
struct Computed {
  TaskId task;
  PlanId plan;
  absl::StatusOr<Piece> piece;
  absl::Duration busy;  // of its thread, packing included
  // With `codec`, where that was wanted: what it made, and how long it took.
  LinkCompression codec = LinkCompression::kNone;
  std::shared_ptr<const PackedParts> packed{};
  absl::Duration packing{};
  StepCosts costs{};  // of its steps, if the request asked
};

// Everything of a worker that takes time, on the threads of an Executor:
// compiling plans, finding files, running stages, packing what they make.
//
// Thread: one (the reactor's), but for MakeAtOnce; results go through `post`,
// which must run what it is given on that thread, later.
class StageRunner {
 public:
  // What is told when work ends.
  struct Results {
    std::function<void(Computed)> computed;
    // `alike`: the pieces are the same for all ranks.
    std::function<void(const PlanId&, absl::Status, bool alike)> defined;
    std::function<void(ManifestResult)> resolved;
  };

  // `element_bytes_max`: see WorkerConfig.
  StageRunner(int threads, std::shared_ptr<const FunctionRegistry> registry,
              std::function<void(std::function<void()>)> post, Results results,
              uint64_t element_bytes_max = kElementBytesMax);
  // Waits for what runs; what waits is dropped.
  ~StageRunner();

  int threads() const { return executor_.threads(); }

  void Define(PlanDefinition definition);
  void Forget(const PlanId& plan);
  // REQUIRES: the plan was defined and that went well (else it is an error
  // result). `blocks`: where its large columns go; null: malloc. `codec`: what
  // the piece's parts are packed with; never kAuto.
  void Compute(ComputeRequest request, std::shared_ptr<BlockSource> blocks,
               LinkCompression codec);
  void Resolve(ManifestRequest request);
  // Makes what was asked for `at_once` on the calling thread, which must not be
  // in a turn of the reactor. Thread: one, always the same.
  void MakeAtOnce();
  // To be called in each turn: while MakeAtOnce is busy, others make that.
  void HandOn();

 private:
  struct CompiledStage;
  using Work = std::function<void(int thread)>;

  // Runs the request's part of the stage. No exception leaves it.
  absl::StatusOr<Piece> Run(CompiledStage& compiled,
                            const ComputeRequest& request,
                            const std::shared_ptr<BlockSource>& blocks,
                            int thread) const;
  void Submit(Work work);
  // Work ended: there may be room for what waits.
  void Refill();

  const std::shared_ptr<const FunctionRegistry> registry_;
  const std::function<void(std::function<void()>)> post_;
  const Results results_;
  const uint64_t element_bytes_max_;
  std::map<PlanId, std::shared_ptr<CompiledStage>> stages_;
  // For when the executor's queue is full; the agent bounds what it asks for.
  std::deque<Work> waiting_;
  std::mutex at_once_mu_;
  std::deque<Work> at_once_;  // guarded by at_once_mu_
  bool making_ = false;       // guarded by at_once_mu_
  Executor executor_;         // last: ends before what its work uses
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_STAGE_RUNNER_H_

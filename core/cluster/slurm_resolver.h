#ifndef FEEDMILL_CORE_CLUSTER_SLURM_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_SLURM_RESOLVER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/cluster/job_layout.h"
#include "feedmill/resolver.h"

namespace feedmill {

struct SlurmOptions {
  // One dispatcher, then workers, unless said otherwise.
  JobLayout jobs = {{"dispatcher", 1}, {"worker", std::nullopt}};
  int64_t port_base = 8888;  // of a host's first task; its next ones follow
  // In place of SLURM_STEP_TASKS_PER_NODE: the same for each host.
  std::optional<int64_t> tasks_per_node;
  // Of each host; found if not given. 0 is a cluster without GPUs.
  std::optional<int64_t> gpus_per_node;
  std::optional<int64_t> gpus_per_task;  // gpus_per_node / most tasks of a host
  ResolverOverrides overrides;
};

// The tasks of the Slurm step, or job, that this process runs in, as Slurm's
// variables give them:
//
//   SLURM_STEP_NODELIST        else SLURM_JOB_NODELIST, SLURM_NODELIST
//   SLURM_STEP_NUM_TASKS       else SLURM_NTASKS, SLURM_NPROCS
//   SLURM_STEP_TASKS_PER_NODE  else SLURM_TASKS_PER_NODE
//   SLURM_DISTRIBUTION         block, cyclic or plane (SLURM_DIST_PLANESIZE)
//   SLURM_PROCID               this process's rank; without it, no task
//
// Ranks go to hosts as Slurm sends them there, hosts in Slurm's order, and the
// k-th task of a host has port_base + k. InvalidArgument names the variable
// that is absent or malformed, or the two that contradict each other; where
// SLURMD_NODENAME is set it must be the host of this rank.
//
// Changes nothing: what a task should see of its GPUs is VisibleGpus().
//
// Source: tf.distribute.cluster_resolver.SlurmClusterResolver.
class SlurmResolver : public ClusterResolver {
 public:
  explicit SlurmResolver(ResolverContext context, SlurmOptions options = {});

  absl::StatusOr<ClusterView> Resolve() const override;
  // Of any task of the step. FailedPrecondition if a host has too few GPUs.
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

  // The GPUs of this rank: those of the k-th task of a host follow those of
  // the one before. For CUDA_VISIBLE_DEVICES.
  absl::StatusOr<std::vector<int64_t>> VisibleGpus() const;

 private:
  struct Placement {
    size_t host = 0;
    int64_t local_id = 0;  // among the host's tasks
  };
  struct Step {
    std::vector<std::string> hosts;
    std::vector<int64_t> tasks_per_host;
    std::vector<Placement> tasks;  // by rank
    std::optional<int64_t> rank;
  };

  absl::StatusOr<Step> ReadStep() const;
  absl::StatusOr<std::vector<int64_t>> ReadTasksPerHost(size_t hosts) const;
  absl::StatusOr<int64_t> ReadPlaneSize() const;
  absl::Status ReadRank(Step* step) const;
  absl::StatusOr<int64_t> GpusPerTask(const Step& step) const;
  static std::vector<Placement> Place(std::vector<int64_t> tasks_per_host,
                                      int64_t plane_size);

  const ResolverContext context_;
  const SlurmOptions options_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_SLURM_RESOLVER_H_

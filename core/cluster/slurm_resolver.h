#ifndef FEEDMILL_CORE_CLUSTER_SLURM_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_SLURM_RESOLVER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/cluster/local_resolver.h"

namespace feedmill {

struct SlurmOptions {
  // Default: one dispatcher, all other tasks workers.
  JobLayout jobs = {{"dispatcher", 1}, {"worker", std::nullopt}};
  int64_t port_base = 8888;  // of a host's first task; later tasks count up
  // Replaces SLURM_STEP_TASKS_PER_NODE; the same for each host.
  std::optional<int64_t> tasks_per_node;
  // GPUs of each host; detected if absent. 0: no GPUs.
  std::optional<int64_t> gpus_per_node;
  // default: gpus_per_node / most tasks of a host
  std::optional<int64_t> gpus_per_task;
  ResolverOverrides overrides;
};

// The tasks of the Slurm step or job of this process, from Slurm's variables:
//
//   SLURM_STEP_NODELIST        else SLURM_JOB_NODELIST, SLURM_NODELIST
//   SLURM_STEP_NUM_TASKS       else SLURM_NTASKS, SLURM_NPROCS
//   SLURM_STEP_TASKS_PER_NODE  else SLURM_TASKS_PER_NODE
//   SLURM_DISTRIBUTION         block, cyclic or plane (SLURM_DIST_PLANESIZE)
//   SLURM_PROCID               this process's rank; without it, no task
//
// Ranks are placed on hosts as Slurm places them, hosts in Slurm's order. The
// k-th task of a host (from 0) has port port_base + k. If SLURMD_NODENAME is
// set, it must be the host of this rank. InvalidArgument names a variable that
// is absent or malformed, or two that contradict each other.
//
// Does not set environment variables; VisibleGpus() gives the GPUs of a task.
//
// Source: tf.distribute.cluster_resolver.SlurmClusterResolver.
class SlurmResolver : public LocalResolver<ResolverContext, SlurmOptions> {
 public:
  using LocalResolver::LocalResolver;

  absl::StatusOr<ClusterView> Resolve() const override;
  // Valid for any task of the step. FailedPrecondition if a host has too few
  // GPUs.
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

  // The GPUs of this rank, for CUDA_VISIBLE_DEVICES. Tasks of a host get
  // consecutive GPUs.
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
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_SLURM_RESOLVER_H_

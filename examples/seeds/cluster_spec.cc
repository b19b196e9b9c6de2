// The documentation page of tf.train.ClusterSpec, in C++.

#include <cstdio>
#include <string>

#include "feedmill/cluster.h"

using feedmill::ClusterSpec;
using feedmill::JobTasks;

int main() {
  const auto cluster = ClusterSpec::FromJobs(
      {{"worker", ClusterSpec::Tasks(std::vector<std::string>{
                      "worker0.example.com:2222", "worker1.example.com:2222",
                      "worker2.example.com:2222"})},
       {"ps", ClusterSpec::Tasks(std::vector<std::string>{
                  "ps0.example.com:2222", "ps1.example.com:2222"})}});
  // A sparse job: the other workers are not known.
  const auto sparse = ClusterSpec::FromJobs(
      {{"worker",
        ClusterSpec::Tasks(JobTasks{{1, "worker1.example.com:2222"}})},
       {"ps", ClusterSpec::Tasks(std::vector<std::string>{
                  "ps0.example.com:2222", "ps1.example.com:2222"})}});
  if (!cluster.ok() || !sparse.ok()) return 1;
  std::printf("%s\n%s\n", cluster->ToString().c_str(),
              sparse->ToString().c_str());
  // num_tasks, task_indices, task_address, and job_tasks with None for missing
  // tasks.
  std::printf("%zu tasks, the first of the sparse job is %d\n",
              *cluster->NumTasks("worker"),
              static_cast<int>(sparse->TaskIndices("worker")->front()));
  std::puts(sparse->TaskAddress("worker", 1)->c_str());
  const auto tasks = sparse->JobTaskList("worker");
  for (const auto& task : *tasks) {
    std::puts(task.has_value() ? task->c_str() : "None");
  }
  // In Python a ValueError: job_name does not name a job, no such task.
  std::printf(
      "%s, %s\n",
      absl::IsNotFound(cluster->NumTasks("chief").status()) ? "NotFound" : "?",
      absl::IsNotFound(sparse->TaskAddress("worker", 0).status()) ? "NotFound"
                                                                  : "?");
  // __bool__, __eq__, __ne__; as_cluster_def and the conversion back.
  const auto back = ClusterSpec::FromDef(sparse->AsClusterDef());
  std::printf("%d %d %d %d\n", bool(*cluster), bool(ClusterSpec()),
              *back == *sparse, *cluster != *sparse);
  return 0;
}

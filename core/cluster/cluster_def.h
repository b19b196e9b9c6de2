#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_DEF_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_DEF_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace feedmill {

// The tasks of one job: their index, and "host:port". Sparse.
using JobTasks = std::map<int64_t, std::string>;

// A cluster as plain data, unchecked: what travels, and what ClusterSpec is
// made from. Its texts are ClusterSpec's, its bytes
// core/wire/cluster_codec.h's. Source: tf.train.ClusterDef.
struct ClusterDef {
  struct Job {
    std::string name;
    JobTasks tasks;
    friend bool operator==(const Job&, const Job&) = default;
  };
  std::vector<Job> jobs;
  friend bool operator==(const ClusterDef&, const ClusterDef&) = default;
};

// Which task of which cluster a server is, as plain data. What is left out is
// filled in by CompleteServerDef (server/server_def.h).
// Source: tf.train.ServerDef.
struct ServerDef {
  ClusterDef cluster{};
  std::string job_name{};               // "": the cluster's only job
  std::optional<int64_t> task_index{};  // absent: the job's only task
  std::string protocol{};               // "": tcp, the only one
  uint16_t port = 0;                    // 0: that of the task's address
  friend bool operator==(const ServerDef&, const ServerDef&) = default;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_DEF_H_

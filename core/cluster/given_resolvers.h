#ifndef FEEDMILL_CORE_CLUSTER_GIVEN_RESOLVERS_H_
#define FEEDMILL_CORE_CLUSTER_GIVEN_RESOLVERS_H_

#include <string>
#include <utility>

#include "core/cluster/local_resolver.h"

namespace feedmill {

// Reads the cluster from a YAML or JSON file (cluster_document.h) at each call.
// Replace the file by a rename, so that no process reads half of it. Errors
// begin with its path.
class FileResolver : public LocalResolver<> {
 public:
  FileResolver(std::string path, ResolverContext context,
               ResolverOverrides overrides = {})
      : LocalResolver(std::move(context), std::move(overrides)),
        path_(std::move(path)) {}

  absl::StatusOr<ClusterView> Resolve() const override;

 private:
  const std::string path_;
};

// The cluster in feedmill's own variables:
//
//   FEEDMILL_CLUSTER    {"dispatcher": ["d:5050"], "worker": ["w0:5051"]}
//   FEEDMILL_JOB        this process's job
//   FEEDMILL_TASK       its index; may be absent where its job has one task
//   FEEDMILL_RPC_LAYER  tcp
//
// All may be absent; the cluster then has no jobs. InvalidArgument names a
// variable that is malformed or contradicts another: an index without a job, a
// task that the cluster does not have.
class EnvResolver : public LocalResolver<> {
 public:
  using LocalResolver::LocalResolver;
  absl::StatusOr<ClusterView> Resolve() const override;

 private:
  absl::Status ReadTask(ClusterView* view) const;
};

// The cluster in the variable TF_CONFIG, which is JSON (cluster_document.h). If
// the variable is not set, the cluster has no jobs. InvalidArgument if its
// value is not JSON of that form; "" is not.
//
// Master(): session_master, unchanged, if given; else "" in a cluster of at
// most one task; else the address of the requested task, or of this one.
//
// Source: tf.distribute.cluster_resolver.TFConfigClusterResolver.
class TfConfigResolver : public LocalResolver<> {
 public:
  using LocalResolver::LocalResolver;
  absl::StatusOr<ClusterView> Resolve() const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_GIVEN_RESOLVERS_H_

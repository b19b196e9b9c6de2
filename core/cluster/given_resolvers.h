#ifndef FEEDMILL_CORE_CLUSTER_GIVEN_RESOLVERS_H_
#define FEEDMILL_CORE_CLUSTER_GIVEN_RESOLVERS_H_

#include <string>
#include <utility>

#include "feedmill/resolver.h"

namespace feedmill {

// Reads the cluster from a YAML or JSON file (cluster_document.h) at each call.
// Replace the file by a rename, so that no process reads half of it. Errors
// begin with its path.
class FileResolver : public ClusterResolver {
 public:
  FileResolver(std::string path, ResolverContext context,
               ResolverOverrides overrides = {})
      : path_(std::move(path)),
        context_(std::move(context)),
        overrides_(std::move(overrides)) {}

  absl::StatusOr<ClusterView> Resolve() const override;
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 private:
  const std::string path_;
  const ResolverContext context_;
  const ResolverOverrides overrides_;
};

// Returns the given view. Without a task in the request, Master() is the view's
// master ("" by default); the process's own task is ignored.
//
// Source: tf.distribute.cluster_resolver.SimpleClusterResolver.
class SimpleResolver : public ClusterResolver {
 public:
  explicit SimpleResolver(ClusterView view, AcceleratorCounts accelerators = {})
      : view_(std::move(view)), accelerators_(std::move(accelerators)) {}

  absl::StatusOr<ClusterView> Resolve() const override { return view_; }
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;

 private:
  const ClusterView view_;
  const AcceleratorCounts accelerators_;
};

// The cluster in the variable TF_CONFIG, which is JSON (cluster_document.h). If
// the variable is not set, the cluster has no jobs. InvalidArgument if its
// value is not JSON of that form; "" is not.
//
// Master(): session_master, unchanged, if given; else "" in a cluster of at
// most one task; else the address of the requested task, or of this one.
//
// Source: tf.distribute.cluster_resolver.TFConfigClusterResolver.
class TfConfigResolver : public ClusterResolver {
 public:
  explicit TfConfigResolver(ResolverContext context,
                            ResolverOverrides overrides = {})
      : context_(std::move(context)), overrides_(std::move(overrides)) {}

  absl::StatusOr<ClusterView> Resolve() const override;
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;

 private:
  const ResolverContext context_;
  const ResolverOverrides overrides_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_GIVEN_RESOLVERS_H_

#ifndef FEEDMILL_CORE_CLUSTER_FILE_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_FILE_RESOLVER_H_

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

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_FILE_RESOLVER_H_

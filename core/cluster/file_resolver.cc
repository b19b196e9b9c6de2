#include "core/cluster/file_resolver.h"

#include "core/base/status.h"
#include "core/cluster/cluster_document.h"

namespace feedmill {

absl::StatusOr<ClusterView> FileResolver::Resolve() const {
  FM_ASSIGN_OR_RETURN(const std::string text, context_.read_file(path_));
  auto view = ReadClusterDocument(text);
  if (!view.ok()) return Annotate(view.status(), path_);
  ApplyOverrides(overrides_, &*view);
  return view;
}

absl::StatusOr<AcceleratorCounts> FileResolver::NumAccelerators(
    const TaskRequest& task) const {
  FM_ASSIGN_OR_RETURN(const ClusterView view, Resolve());
  return LocalAccelerators(context_, view, task);
}

}  // namespace feedmill

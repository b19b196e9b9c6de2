#ifndef FEEDMILL_CORE_CLUSTER_LOCAL_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_LOCAL_RESOLVER_H_

#include <utility>

#include "core/base/status.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Base of resolvers that read their surroundings. They know the accelerators of
// the machine that they run on.
template <class Context = ResolverContext, class Options = ResolverOverrides>
class LocalResolver : public ClusterResolver {
 public:
  explicit LocalResolver(Context context, Options options = {})
      : context_(std::move(context)), options_(std::move(options)) {}

  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override {
    FM_ASSIGN_OR_RETURN(const ClusterView view, Resolve());
    return LocalAccelerators(context_, view, task);
  }

 protected:
  const Context context_;
  const Options options_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_LOCAL_RESOLVER_H_

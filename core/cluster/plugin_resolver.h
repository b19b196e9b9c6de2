#ifndef FEEDMILL_CORE_CLUSTER_PLUGIN_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_PLUGIN_RESOLVER_H_

#include <string>

#include "feedmill/resolver.h"

namespace feedmill {

// Adds the resolver of a shared object (plugin.h) to the registry. The
// object stays loaded. InvalidArgument names the file if it cannot be loaded,
// has no entry point of a known version, or has a scheme that is already
// registered.
absl::Status AddResolverPlugin(const std::string& path,
                               ResolverRegistry* registry);

// Adds the plugins listed in FEEDMILL_RESOLVER_PLUGINS.
absl::Status AddResolverPlugins(const Environment& environment,
                                ResolverRegistry* registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_PLUGIN_RESOLVER_H_

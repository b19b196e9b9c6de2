#ifndef FEEDMILL_TESTS_CONFORMANCE_CLUSTER_CLOUD_REGISTRY_H_
#define FEEDMILL_TESTS_CONFORMANCE_CLUSTER_CLOUD_REGISTRY_H_

#include "cloud/cloud_resolvers.h"
#include "core/base/check.h"

namespace feedmill {

// Returns the command's resolvers without plugins.
inline ResolverRegistry CloudResolvers(const HttpOpener& open_http) {
  ResolverRegistry registry = BuiltinResolvers();
  FM_CHECK(AddCloudResolvers(open_http, &registry).ok());
  return registry;
}

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_CONFORMANCE_CLUSTER_CLOUD_REGISTRY_H_

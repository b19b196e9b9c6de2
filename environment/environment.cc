#include "cloud/cloud_resolvers.h"
#include "cloud/google_login.h"
#include "cloud/http_client.h"
#include "core/base/status.h"
#include "core/cluster/plugin_resolver.h"
#include "core/io/file_systems.h"
#include "feedmill/dataset.h"
#include "feedmill/resolver.h"
#include "stores/stores.h"

namespace feedmill {

absl::StatusOr<ResolverRegistry> AllResolvers() {
  ResolverRegistry resolvers = BuiltinResolvers();
  FM_RETURN_IF_ERROR(AddCloudResolvers(OpenHttp, &resolvers));
  FM_RETURN_IF_ERROR(AddResolverPlugins(HostContext().environment, &resolvers));
  return resolvers;
}

absl::Status AddStores() {
  return AddStoresTo(ProcessFileSystems(),
                     OpenGoogleLogin(HostContext().environment));
}

}  // namespace feedmill

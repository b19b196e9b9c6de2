#include "feedmill/environment.h"

#include "cloud/cloud_resolvers.h"
#include "cloud/http_client.h"
#include "core/base/status.h"
#include "core/cluster/plugin_resolver.h"
#include "stores/http/http_files.h"

namespace feedmill {

absl::StatusOr<ResolverRegistry> AllResolvers() {
  ResolverRegistry resolvers = BuiltinResolvers();
  FM_RETURN_IF_ERROR(AddCloudResolvers(OpenHttp, &resolvers));
  FM_RETURN_IF_ERROR(AddResolverPlugins(HostContext().environment, &resolvers));
  return resolvers;
}

absl::Status AddStores() {
  FM_ASSIGN_OR_RETURN(const HttpOptions options, HttpOptionsOfEnvironment());
  return AddHttpFiles(options);
}

}  // namespace feedmill

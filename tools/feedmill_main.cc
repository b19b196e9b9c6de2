#include <cstdio>
#include <utility>

#include "cloud/cloud_resolvers.h"
#include "cloud/http_client.h"
#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "core/cluster/plugin_resolver.h"
#include "core/ops/builtin_functions.h"
#include "stores/http/http_files.h"
#include "tools/command/feedmill_command.h"
#include "tools/command/resource_errors.h"

namespace {

// Files behind URLs, as the environment sets them up.
absl::Status AddStores() {
  FM_ASSIGN_OR_RETURN(const feedmill::HttpOptions options,
                      feedmill::HttpOptionsOfEnvironment());
  return feedmill::AddHttpFiles(options);
}

}  // namespace

int main(int argc, char** argv) {
  feedmill::ExplainResourceErrors();
  feedmill::ResolverRegistry resolvers = feedmill::BuiltinResolvers();
  absl::Status added =
      feedmill::AddCloudResolvers(feedmill::OpenHttp, &resolvers);
  if (added.ok()) {
    added = feedmill::AddResolverPlugins(feedmill::HostContext().environment,
                                         &resolvers);
  }
  if (added.ok()) added = AddStores();
  if (!added.ok()) {
    std::fprintf(stderr, "feedmill: %s\n", feedmill::ErrorText(added).c_str());
    return 2;
  }
  return feedmill::FeedmillMain(argc, argv, feedmill::BuiltinFunctions(),
                                std::move(resolvers));
}
